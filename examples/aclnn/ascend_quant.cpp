// aclnnAscendQuant: int8 codes by scales that multiply and offsets, one per column.
#include "aclnnop/aclnn_ascend_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x * scale + offset is 2.5 -1.5 6 and 200.5 0.5 17; the floor: 2 -2 6 and 200 0 17, of which 200
  // saturates.
  Tensor<float> x, scale, offset;
  CHECK(x.create({2, 3}, ACL_FLOAT, {1, -3, 4, 100, 1, -7}));
  CHECK(scale.create({3}, ACL_FLOAT, {2, 0.5f, -1}));
  CHECK(offset.create({3}, ACL_FLOAT, {0.5f, 0, 10}));
  const bool sqrt_mode = false;
  Tensor<int8_t> y;
  CHECK(y.create_output({2, 3}, ACL_INT8));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAscendQuantGetWorkspaceSize(x.get(), scale.get(), offset.get(), sqrt_mode, "floor",
                                         ACL_INT8, y.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAscendQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  return 0;
}
