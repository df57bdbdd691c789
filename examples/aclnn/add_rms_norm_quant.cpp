// aclnnAddRmsNormQuant: a residual sum, its RMS norm, and int8 codes of that by two scales.
#include "aclnnop/aclnn_add_rms_norm_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x1 + x2 is 2 -2 2 -2 and 4 0 0 0; the mean square of both is 4, so that, but for epsilon, they
  // are halved. Times gamma: 1 -2 3 -4 and 2 0 0 0. Divided by 0.1, plus the zero points:
  // 10 -15 30 -140 and 20 5 0 -100, of which -140 saturates. Divided by 0.5: 2 -4 6 -8 and 4 0 0 0.
  Tensor<uint16_t> x1, x2, gamma;
  CHECK(x1.create({2, 4}, ACL_FLOAT16, to_halves({1, -1, 3, 0, 3, 1, 2, 0})));
  CHECK(x2.create({2, 4}, ACL_FLOAT16, to_halves({1, -1, -1, -2, 1, -1, -2, 0})));
  CHECK(gamma.create({4}, ACL_FLOAT16, to_halves({1, 2, 3, 4})));
  Tensor<float> scales1, scales2;
  CHECK(scales1.create({4}, ACL_FLOAT, {0.1f, 0.1f, 0.1f, 0.1f}));
  CHECK(scales2.create({4}, ACL_FLOAT, {0.5f, 0.5f, 0.5f, 0.5f}));
  Tensor<int32_t> zero_points1;
  CHECK(zero_points1.create({4}, ACL_INT32, {0, 5, 0, -100}));
  const int64_t axis = -1;
  const double epsilon = 1e-6;
  const bool div_mode = true;
  Tensor<int8_t> y1, y2;
  Tensor<uint16_t> x;
  CHECK(y1.create_output({2, 4}, ACL_INT8));
  CHECK(y2.create_output({2, 4}, ACL_INT8));
  CHECK(x.create_output({2, 4}, ACL_FLOAT16));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAddRmsNormQuantGetWorkspaceSize(
      x1.get(), x2.get(), gamma.get(), scales1.get(), scales2.get(), zero_points1.get(), nullptr,
      axis, epsilon, div_mode, y1.get(), y2.get(), x.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAddRmsNormQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y1));
  CHECK(print("result2", y2));
  CHECK(print("x", x));
  return 0;
}
