// aclnnGroupedMatmulV4: rows of int8 times the weight of their expert, to float16 by their scales.
#include "aclnnop/aclnn_grouped_matmul_v4.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Two rows are the first expert's, one the second's: the sums are 21 12, 17 54 and 23 34.
  Tensor<int8_t> x, weight;
  CHECK(x.create({3, 2}, ACL_INT8, {1, 2, -3, 4, 5, 6}));
  CHECK(weight.create({2, 2, 2}, ACL_INT8, {5, -6, 8, 9, 1, 2, 3, 4}));
  Tensor<float> scale, per_token_scale;
  CHECK(scale.create({2, 2}, ACL_FLOAT, {1, 0.5f, 2, 1}));
  CHECK(per_token_scale.create({3}, ACL_FLOAT, {1, 0.5f, 1}));
  Tensor<int64_t> group_list;
  CHECK(group_list.create({2}, ACL_INT64, {2, 3}));
  Tensor<uint16_t> y;
  CHECK(y.create_output({3, 2}, ACL_FLOAT16));
  TensorList xs, weights, scales, per_token_scales, out;
  CHECK(xs.create({x.release()}));
  CHECK(weights.create({weight.release()}));
  CHECK(scales.create({scale.release()}));
  CHECK(per_token_scales.create({per_token_scale.release()}));
  CHECK(out.create({y.release()}));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  const int64_t one_result = 3, groups_of_rows = 0, ends = 0, no_activation = 0;
  CHECK(aclnnGroupedMatmulV4GetWorkspaceSize(
      xs.get(), weights.get(), nullptr, scales.get(), nullptr, nullptr, nullptr,
      per_token_scales.get(), group_list.get(), nullptr, nullptr, nullptr, one_result,
      groups_of_rows, ends, no_activation, out.get(), nullptr, nullptr, &workspace_size,
      &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnGroupedMatmulV4(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  return 0;
}
