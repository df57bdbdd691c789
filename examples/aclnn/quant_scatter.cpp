// aclnnInplaceQuantScatter: a token of each of two sequences joins a cache of keys.
#include "aclnnop/aclnn_quant_scatter.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Of the first sequence it is the third token, of the second the first: 1 / 0.5 is 2, and -3 / 2
  // + 1 is -0.5, a tie that goes to 0.
  Tensor<int8_t> cache;
  CHECK(cache.create({2, 3, 2}, ACL_INT8, std::vector<int8_t>(12)));
  Tensor<int32_t> indices, zero_points;
  CHECK(indices.create({2}, ACL_INT32, {2, 0}));
  CHECK(zero_points.create({2}, ACL_INT32, {0, 1}));
  Tensor<uint16_t> updates;
  CHECK(updates.create({2, 1, 2}, ACL_FLOAT16, to_halves({1, -3, 0, -2})));
  Tensor<float> scales;
  CHECK(scales.create({2}, ACL_FLOAT, {0.5f, 2}));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnInplaceQuantScatterGetWorkspaceSize(cache.get(), indices.get(), updates.get(),
                                                 scales.get(), zero_points.get(), -2, -1, 1,
                                                 &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnInplaceQuantScatter(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", cache));
  return 0;
}
