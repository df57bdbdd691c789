// aclnnGroupQuant: two rows, each of a group of its own, by scales of 1 and of a half.
#include "aclnnop/aclnn_group_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x * scale + 0.5, ties to even: 1.5, -1.5, 3, 1000.5 and 1, -0.5, 1.75, 500.5.
  Tensor<float> x, scale, offset;
  CHECK(x.create({2, 4}, ACL_FLOAT, {1, -2, 2.5f, 1000, 1, -2, 2.5f, 1000}));
  CHECK(scale.create({2, 4}, ACL_FLOAT, {1, 1, 1, 1, 0.5f, 0.5f, 0.5f, 0.5f}));
  CHECK(offset.create({1}, ACL_FLOAT, {0.5f}));
  Tensor<int32_t> group_index;  // the row behind each group
  CHECK(group_index.create({2}, ACL_INT32, {1, 2}));
  Tensor<int8_t> y;
  CHECK(y.create_output({2, 4}, ACL_INT8));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnGroupQuantGetWorkspaceSize(x.get(), scale.get(), group_index.get(), offset.get(),
                                        ACL_INT8, y.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnGroupQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  return 0;
}
