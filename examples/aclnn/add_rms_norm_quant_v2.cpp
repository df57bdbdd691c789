// aclnnAddRmsNormQuantV2: as V1, and a beta that is added to the norm, and the norm itself.
#include "aclnnop/aclnn_add_rms_norm_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x1 + x2 is 2 -2 2 -2, whose mean square is 4, so that, but for epsilon, it is halved. Times
  // gamma: 1 -2 3 -4; plus beta: 1.25 -1.5 2 -4, which is the norm; times 8: 10 -12 16 -32.
  Tensor<uint16_t> x1, x2, gamma, beta;
  CHECK(x1.create({1, 4}, ACL_FLOAT16, to_halves({1, -1, 3, 0})));
  CHECK(x2.create({1, 4}, ACL_FLOAT16, to_halves({1, -1, -1, -2})));
  CHECK(gamma.create({4}, ACL_FLOAT16, to_halves({1, 2, 3, 4})));
  CHECK(beta.create({4}, ACL_FLOAT16, to_halves({0.25f, 0.5f, -1, 0})));
  Tensor<float> scales1;
  CHECK(scales1.create({4}, ACL_FLOAT, {8, 8, 8, 8}));
  const int64_t axis = -1;
  const double epsilon = 1e-6;
  const bool div_mode = false;
  Tensor<int8_t> y1, y2;
  Tensor<uint16_t> x, norm;
  CHECK(y1.create_output({1, 4}, ACL_INT8));
  CHECK(y2.create_output({1, 4}, ACL_INT8));
  CHECK(x.create_output({1, 4}, ACL_FLOAT16));
  CHECK(norm.create_output({1, 4}, ACL_FLOAT16));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAddRmsNormQuantV2GetWorkspaceSize(
      x1.get(), x2.get(), gamma.get(), scales1.get(), nullptr, nullptr, nullptr, beta.get(), axis,
      epsilon, div_mode, y1.get(), y2.get(), x.get(), norm.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAddRmsNormQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y1));
  CHECK(print("x", x));
  CHECK(print("norm", norm));
  return 0;
}
