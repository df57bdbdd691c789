// aclnnDequantSwigluQuant: integers of a product made into values, gated, and quantized row by row.
#include "aclnnop/aclnn_dequant_swiglu_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Times 0.5 and 2 the rows are 20 40 0.5 -1.5 and, behind a bias of 1 for the last column, 30 0 1
  // 3: gated 10 and -60, 30 and 0, whose greatest become 127. The group has one row: row 1 is 0.
  Tensor<int32_t> x, bias;
  CHECK(x.create({2, 4}, ACL_INT32, {40, 80, 1, -4, 30, 0, 1, 2}));
  Tensor<float> weight_scale, activation_scale, scale;
  CHECK(weight_scale.create({1, 4}, ACL_FLOAT, {0.5f, 0.5f, 0.5f, 0.5f}));
  CHECK(activation_scale.create({2}, ACL_FLOAT, {1, 2}));
  CHECK(bias.create({1, 4}, ACL_INT32, {0, 0, 0, 1}));
  Tensor<int64_t> group_index;
  CHECK(group_index.create({1}, ACL_INT64, {1}));
  Tensor<int8_t> y;
  CHECK(y.create_output({2, 2}, ACL_INT8));
  CHECK(scale.create_output({2}, ACL_FLOAT));
  const bool activate_left = true;
  char quant_mode[] = "dynamic";

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDequantSwigluQuantGetWorkspaceSize(x.get(), weight_scale.get(), activation_scale.get(),
                                                bias.get(), nullptr, nullptr, group_index.get(),
                                                activate_left, quant_mode, y.get(), scale.get(),
                                                &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDequantSwigluQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
