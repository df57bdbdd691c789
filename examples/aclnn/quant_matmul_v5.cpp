// aclnnQuantMatmulV5: a product of FLOAT8_E4M3FN, whose bias is added before the scales.
#include "aclnnop/aclnn_quant_matmul_v5.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Rows of 1 2 and 1 1, times 1 2: sums of 5 and 3, and 1 more.
  Tensor<uint8_t> x1, x2;
  CHECK(x1.create({2, 2}, ACL_FLOAT8_E4M3FN, {0x38, 0x40, 0x38, 0x38}));
  CHECK(x2.create({2, 1}, ACL_FLOAT8_E4M3FN, {0x38, 0x40}));
  Tensor<float> x1_scale, x2_scale, bias;
  CHECK(x1_scale.create({2}, ACL_FLOAT, {1, 0.5f}));
  CHECK(x2_scale.create({1}, ACL_FLOAT, {2}));
  CHECK(bias.create({1}, ACL_FLOAT, {1}));
  Tensor<float> out;
  CHECK(out.create_output({2, 1}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnQuantMatmulV5GetWorkspaceSize(x1.get(), x2.get(), x1_scale.get(), x2_scale.get(),
                                           nullptr, nullptr, nullptr, nullptr, bias.get(), false,
                                           false, 0, out.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnQuantMatmulV5(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
