// aclnnQuantMatmulV4: a product of INT8, with a scale per column, one per row, and a bias.
#include "aclnnop/aclnn_quant_matmul_v4.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // The sums are 21 12 -13 and 17 54 -61.
  Tensor<int8_t> x1, x2;
  CHECK(x1.create({2, 2}, ACL_INT8, {1, 2, -3, 4}));
  CHECK(x2.create({2, 3}, ACL_INT8, {5, -6, 7, 8, 9, -10}));
  Tensor<float> scale, pertoken_scale, bias;
  CHECK(scale.create({3}, ACL_FLOAT, {0.5f, 1, 2}));
  CHECK(pertoken_scale.create({2}, ACL_FLOAT, {1, 0.25f}));
  CHECK(bias.create({3}, ACL_FLOAT, {1, 0, -1}));
  Tensor<uint16_t> out;
  CHECK(out.create_output({2, 3}, ACL_FLOAT16));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnQuantMatmulV4GetWorkspaceSize(x1.get(), x2.get(), scale.get(), nullptr,
                                           pertoken_scale.get(), bias.get(), false, false,
                                           out.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnQuantMatmulV4(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
