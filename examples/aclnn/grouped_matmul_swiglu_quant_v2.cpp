// aclnnGroupedMatmulSwigluQuantV2: rows times the matrix of their expert, gated and quantized.
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // The first expert has two rows, the second none, row 2 is behind them: it is 0. The sums are
  // 64 40 2 1 and -2 80 4 60, of which the first column of row 1 gates with nearly nothing.
  Tensor<int8_t> x, weight;
  CHECK(x.create({3, 2}, ACL_INT8, {1, 0, 0, 1, 9, 9}));
  CHECK(weight.create({2, 2, 4}, ACL_INT8, {64, 40, 2, 1, -2, 80, 4, 60, 1, 1, 1, 1, 1, 1, 1, 1}));
  Tensor<float> weight_scale, x_scale, scale;
  CHECK(weight_scale.create({2, 4}, ACL_FLOAT, {0.5f, 0.5f, 1, 1, 1, 1, 1, 1}));
  CHECK(x_scale.create({3}, ACL_FLOAT, {1, 2, 1}));
  Tensor<int64_t> group_list;
  CHECK(group_list.create({2}, ACL_INT64, {2, 0}));
  Tensor<int8_t> y;
  CHECK(y.create_output({3, 2}, ACL_INT8));
  CHECK(scale.create_output({3}, ACL_FLOAT));
  TensorList weights, weight_scales;
  CHECK(weights.create({weight.release()}));
  CHECK(weight_scales.create({weight_scale.release()}));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  const int64_t by_columns = 0, counts = 1;
  CHECK(aclnnGroupedMatmulSwigluQuantV2GetWorkspaceSize(
      x.get(), weights.get(), weight_scales.get(), nullptr, nullptr, x_scale.get(), nullptr,
      group_list.get(), by_columns, ACL_FLOAT, 0, counts, nullptr, y.get(), scale.get(),
      &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnGroupedMatmulSwigluQuantV2(workspace.address(), workspace_size, executor,
                                        device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
