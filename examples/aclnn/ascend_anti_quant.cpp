// aclnnAscendAntiQuant: the values that int8 codes stand for, with an offset and a scale per
// column.
#include "aclnnop/aclnn_ascend_anti_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // (x + offset) * scale: -120 * 0.5, -1 * 1, 128 * 0.25 and 9 * 0.5, 1 * 1, 4 * 0.25.
  Tensor<int8_t> x;
  CHECK(x.create({2, 3}, ACL_INT8, {-128, 0, 127, 1, 2, 3}));
  Tensor<float> scale, offset;
  CHECK(scale.create({3}, ACL_FLOAT, {0.5f, 1, 0.25f}));
  CHECK(offset.create({3}, ACL_FLOAT, {8, -1, 1}));
  const bool sqrt_mode = false;
  Tensor<uint16_t> y;
  CHECK(y.create_output({2, 3}, ACL_FLOAT16));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAscendAntiQuantGetWorkspaceSize(x.get(), scale.get(), offset.get(), ACL_FLOAT16,
                                             sqrt_mode, y.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAscendAntiQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  return 0;
}
