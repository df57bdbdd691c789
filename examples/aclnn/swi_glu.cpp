// aclnnSwiGlu: a / (1 + exp(-a)) * b, of which a and b are the halves of an axis.
#include "aclnnop/aclnn_swi_glu.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // From 17.33 on 1 + exp(-a) is 1, so that the results are a * b; 0 stays 0.
  Tensor<float> x, out;
  CHECK(x.create({2, 4}, ACL_FLOAT, {20, 32, 0.5f, -1, 0, 18, 7, 2}));
  CHECK(out.create_output({2, 2}, ACL_FLOAT));
  const int64_t dim = -1;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnSwiGluGetWorkspaceSize(x.get(), dim, out.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnSwiGlu(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
