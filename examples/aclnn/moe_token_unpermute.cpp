// aclnnMoeTokenUnpermute: two tokens, each the sum of two rows that have weights.
#include "aclnnop/aclnn_moe_token_unpermute.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  Tensor<float> permuted, probs, out;
  CHECK(permuted.create({3, 2}, ACL_FLOAT, {1, 2, 3, 4, 5, 6}));
  CHECK(probs.create({2, 2}, ACL_FLOAT, {0.5f, 0.25f, 1, 2}));
  Tensor<int32_t> sorted_indices;  // there is no row 9
  CHECK(sorted_indices.create({4}, ACL_INT32, {2, 0, 1, 9}));
  CHECK(out.create_output({2, 2}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnMoeTokenUnpermuteGetWorkspaceSize(permuted.get(), sorted_indices.get(), probs.get(),
                                               false, nullptr, out.get(), &workspace_size,
                                               &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnMoeTokenUnpermute(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
