// aclnnMoeFinalizeRouting: two tokens, each the sum of what two experts made of it.
#include "aclnnop/aclnn_moe_finalize_routing.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  Tensor<float> rows, skip, bias, scales, out;
  CHECK(rows.create({4, 2}, ACL_FLOAT, {1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(skip.create({2, 2}, ACL_FLOAT, {10, 20, 30, 40}));
  CHECK(bias.create({2, 2}, ACL_FLOAT, {0.5f, 0, 0, 1}));
  CHECK(scales.create({2, 2}, ACL_FLOAT, {1, 0.5f, 2, 1}));
  Tensor<int32_t> source, experts;
  CHECK(source.create({4}, ACL_INT32, {0, 2, 3, 1}));
  CHECK(experts.create({2, 2}, ACL_INT32, {0, 1, 1, 1}));
  CHECK(out.create_output({2, 2}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnMoeFinalizeRoutingGetWorkspaceSize(rows.get(), skip.get(), nullptr, bias.get(),
                                                scales.get(), source.get(), experts.get(),
                                                out.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnMoeFinalizeRouting(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
