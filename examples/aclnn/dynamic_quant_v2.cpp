// aclnnDynamicQuantV2: as V1, and the type of the codes is named. Without offsetOut it is
// symmetric.
#include "aclnnop/aclnn_dynamic_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Scales: 127 / 127 = 1 and 31.75 / 127 = 0.25. Quotients: 127 2.5 3.5 and -127 40 0.
  Tensor<uint16_t> x;
  CHECK(x.create({2, 1, 3}, ACL_FLOAT16, to_halves({127, 2.5f, 3.5f, -31.75f, 10, 0})));
  Tensor<int8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({2, 1, 3}, ACL_INT8));
  CHECK(scale.create_output({2, 1}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicQuantV2GetWorkspaceSize(x.get(), nullptr, nullptr, ACL_INT8, y.get(),
                                            scale.get(), nullptr, &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
