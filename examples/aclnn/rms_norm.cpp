// aclnnRmsNorm: rows divided by the root of their mean square, times gamma in float32.
#include "aclnnop/aclnn_rms_norm.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // The mean square of both rows is 4, so that, but for epsilon, they are halved. Times gamma:
  // 1 -2 3 -4 and 2 0 0 0.
  Tensor<uint16_t> x;
  CHECK(x.create({2, 4}, ACL_FLOAT16, to_halves({2, -2, 2, -2, 4, 0, 0, 0})));
  Tensor<float> gamma;
  CHECK(gamma.create({4}, ACL_FLOAT, {1, 2, 3, 4}));
  const double epsilon = 1e-6;
  Tensor<uint16_t> y;
  Tensor<float> rstd;
  CHECK(y.create_output({2, 4}, ACL_FLOAT16));
  CHECK(rstd.create_output({2, 1}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnRmsNormGetWorkspaceSize(x.get(), gamma.get(), epsilon, y.get(), rstd.get(),
                                     &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnRmsNorm(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("rstd", rstd));
  return 0;
}
