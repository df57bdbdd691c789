// aclnnAddRmsNorm: a residual sum, and its RMS norm.
#include "aclnnop/aclnn_add_rms_norm.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x1 + x2 is 2 -2 2 -2 and 4 0 0 0; the mean square of both is 4, so that, but for epsilon, they
  // are halved. Times gamma: 1 -2 3 -4 and 2 0 0 0.
  Tensor<uint16_t> x1, x2, gamma;
  CHECK(x1.create({2, 4}, ACL_FLOAT16, to_halves({1, -1, 3, 0, 3, 1, 2, 0})));
  CHECK(x2.create({2, 4}, ACL_FLOAT16, to_halves({1, -1, -1, -2, 1, -1, -2, 0})));
  CHECK(gamma.create({4}, ACL_FLOAT16, to_halves({1, 2, 3, 4})));
  const double epsilon = 1e-6;
  Tensor<uint16_t> y, x;
  Tensor<float> rstd;
  CHECK(y.create_output({2, 4}, ACL_FLOAT16));
  CHECK(rstd.create_output({2, 1}, ACL_FLOAT));
  CHECK(x.create_output({2, 4}, ACL_FLOAT16));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAddRmsNormGetWorkspaceSize(x1.get(), x2.get(), gamma.get(), epsilon, y.get(),
                                        rstd.get(), x.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAddRmsNorm(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("rstd", rstd));
  CHECK(print("x", x));
  return 0;
}
