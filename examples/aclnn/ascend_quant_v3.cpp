// aclnnAscendQuantV3: as V1, and the scales may go with the last axis but one: here one per row.
#include "aclnnop/aclnn_ascend_quant_v3.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // sqrtMode multiplies by the scale twice: by 4 and by 0.25. That gives 4 -8 0.5 and 2.5 -1.5 3.5,
  // rounded to nearest, ties to even.
  Tensor<uint16_t> x, scale;
  CHECK(x.create({2, 3}, ACL_FLOAT16, to_halves({1, -2, 0.125f, 10, -6, 14})));
  CHECK(scale.create({2}, ACL_FLOAT16, to_halves({2, 0.5f})));
  const bool sqrt_mode = true;
  const int32_t axis = -2;
  Tensor<int8_t> y;
  CHECK(y.create_output({2, 3}, ACL_INT8));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAscendQuantV3GetWorkspaceSize(x.get(), scale.get(), nullptr, sqrt_mode, "round",
                                           ACL_INT8, axis, y.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAscendQuantV3(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  return 0;
}
