// aclnnDequantBias: the values that the int32 sums of a product stand for, with a bias per column.
#include "aclnnop/aclnn_dequant_bias.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x * weight_scale * activation_scale + bias: 1 + 1, 4 + 0, 12 - 1 and 40 + 1, 100 + 0, 240 - 1.
  Tensor<int32_t> x;
  CHECK(x.create({2, 3}, ACL_INT32, {1, 2, 3, 4, 5, 6}));
  Tensor<float> weight_scale, activation_scale, bias;
  CHECK(weight_scale.create({3}, ACL_FLOAT, {1, 2, 4}));
  CHECK(activation_scale.create({2}, ACL_FLOAT, {1, 10}));
  CHECK(bias.create({3}, ACL_FLOAT, {1, 0, -1}));
  Tensor<uint16_t> out;
  CHECK(out.create_output({2, 3}, ACL_FLOAT16));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDequantBiasGetWorkspaceSize(x.get(), weight_scale.get(), activation_scale.get(),
                                         bias.get(), ACL_FLOAT16, out.get(), &workspace_size,
                                         &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDequantBias(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
