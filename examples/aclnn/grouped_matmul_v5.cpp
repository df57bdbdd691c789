// aclnnGroupedMatmulV5: an x, a weight, a bias and a result for each expert.
#include "aclnnop/aclnn_grouped_matmul_v5.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // The products are 21 12 and 17 54, and 23 34.
  Tensor<uint16_t> x[2], weight[2], bias[2], y[2];
  CHECK(x[0].create({2, 2}, ACL_FLOAT16, to_halves({1, 2, -3, 4})));
  CHECK(x[1].create({1, 2}, ACL_FLOAT16, to_halves({5, 6})));
  CHECK(weight[0].create({2, 2}, ACL_FLOAT16, to_halves({5, -6, 8, 9})));
  CHECK(weight[1].create({2, 2}, ACL_FLOAT16, to_halves({1, 2, 3, 4})));
  CHECK(bias[0].create({2}, ACL_FLOAT16, to_halves({0.5f, 0})));
  CHECK(bias[1].create({2}, ACL_FLOAT16, to_halves({1, 2})));
  CHECK(y[0].create_output({2, 2}, ACL_FLOAT16));
  CHECK(y[1].create_output({1, 2}, ACL_FLOAT16));
  TensorList xs, weights, biases, out;
  CHECK(xs.create({x[0].release(), x[1].release()}));
  CHECK(weights.create({weight[0].release(), weight[1].release()}));
  CHECK(biases.create({bias[0].release(), bias[1].release()}));
  CHECK(out.create({y[0].release(), y[1].release()}));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  const int64_t each_its_result = 0, no_groups = -1, no_list = 0, no_activation = 0;
  CHECK(aclnnGroupedMatmulV5GetWorkspaceSize(
      xs.get(), weights.get(), biases.get(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
      nullptr, nullptr, nullptr, each_its_result, no_groups, no_list, no_activation, nullptr,
      out.get(), nullptr, nullptr, &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnGroupedMatmulV5(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y[0]));
  CHECK(print("result2", y[1]));
  return 0;
}
