// aclnnDynamicQuantV3: as V2, and symmetry and what a scale is for are named.
#include "aclnnop/aclnn_dynamic_quant_v3.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // A row of zeros has scale 0 and codes 0. Of the other: 254 / 127 = 2, codes 127 and -1.5.
  Tensor<uint16_t> x;
  CHECK(x.create({2, 2}, ACL_FLOAT16, to_halves({0, 0, 254, -3})));
  Tensor<int8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({2, 2}, ACL_INT8));
  CHECK(scale.create_output({2}, ACL_FLOAT));
  const bool is_symmetrical = true;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicQuantV3GetWorkspaceSize(x.get(), nullptr, nullptr, ACL_INT8, is_symmetrical,
                                            "pertoken", y.get(), scale.get(), nullptr,
                                            &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicQuantV3(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
