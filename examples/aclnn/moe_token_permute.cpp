// aclnnMoeTokenPermute: two copies of each of two tokens, in the order of their indices.
#include "aclnnop/aclnn_moe_token_permute.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  Tensor<float> tokens, permuted;
  CHECK(tokens.create({2, 1}, ACL_FLOAT, {1, 2}));
  Tensor<int32_t> indices, sorted_indices;
  CHECK(indices.create({2, 2}, ACL_INT32, {1, 0, 0, 2}));
  CHECK(permuted.create_output({4, 1}, ACL_FLOAT));
  CHECK(sorted_indices.create_output({4}, ACL_INT32));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnMoeTokenPermuteGetWorkspaceSize(tokens.get(), indices.get(), 0, false, permuted.get(),
                                             sorted_indices.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnMoeTokenPermute(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", permuted));
  CHECK(print("row", sorted_indices));
  return 0;
}
