// aclnnWeightQuantBatchMatmulV2: a product with a weight of int8, quantized.
#include "aclnnop/aclnn_weight_quant_batch_matmul_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // [1, 2] by [[3, -6, 12], [4.5, 9, -22]] is [12, 12, -32], times the scales.
  Tensor<uint16_t> x, scale, offset;
  CHECK(x.create({1, 2}, ACL_FLOAT16, {0x3c00, 0x4000}));
  CHECK(scale.create({1, 3}, ACL_FLOAT16, {0x3800, 0x3c00, 0x4000}));
  CHECK(offset.create({1, 3}, ACL_FLOAT16, {0x3c00, 0, 0xbc00}));
  Tensor<int8_t> weight;
  CHECK(weight.create({2, 3}, ACL_INT8, {5, -6, 7, 8, 9, -10}));
  Tensor<float> quant_scale;
  CHECK(quant_scale.create({3}, ACL_FLOAT, {0.5f, 1, 10}));
  Tensor<int8_t> y;
  CHECK(y.create_output({1, 3}, ACL_INT8));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnWeightQuantBatchMatmulV2GetWorkspaceSize(
      x.get(), weight.get(), scale.get(), offset.get(), quant_scale.get(), nullptr, nullptr, 0,
      y.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnWeightQuantBatchMatmulV2(workspace.address(), workspace_size, executor,
                                      device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  return 0;
}
