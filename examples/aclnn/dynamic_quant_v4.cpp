// aclnnDynamicQuantV4: as V3, and a largest code for types that have several; 0 for int8.
#include "aclnnop/aclnn_dynamic_quant_v4.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Scale: 15.875 / 127 = 0.125. Quotients: 127 -8 3.5 0.5.
  Tensor<uint16_t> x;
  CHECK(x.create({1, 4}, ACL_FLOAT16, to_halves({15.875f, -1, 0.4375f, 0.0625f})));
  Tensor<int8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({1, 4}, ACL_INT8));
  CHECK(scale.create_output({1}, ACL_FLOAT));
  const bool is_symmetrical = true;
  const float dst_type_max = 0;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicQuantV4GetWorkspaceSize(x.get(), nullptr, nullptr, ACL_INT8, is_symmetrical,
                                            "pertoken", dst_type_max, y.get(), scale.get(), nullptr,
                                            &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicQuantV4(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
