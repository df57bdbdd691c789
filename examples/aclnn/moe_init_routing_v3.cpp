// aclnnMoeInitRoutingV3: two tokens, each to two of three experts, in codes by scales of their own.
#include "aclnnop/aclnn_moe_init_routing_v3.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  Tensor<float> x;
  CHECK(x.create({2, 2}, ACL_FLOAT, {127, -2, 64, 254}));
  Tensor<int32_t> expert_idx;
  CHECK(expert_idx.create({2, 2}, ACL_INT32, {1, 0, 0, 2}));
  // Of experts 0 and 1 alone: what goes to another has no slot.
  const int64_t ends[] = {0, 2};
  aclIntArray* range = aclCreateIntArray(ends, 2);
  Tensor<int8_t> y;
  CHECK(y.create_output({4, 2}, ACL_INT8));
  Tensor<int32_t> row_idx;
  CHECK(row_idx.create_output({4}, ACL_INT32));
  Tensor<int64_t> counts;
  CHECK(counts.create_output({2}, ACL_INT64));
  Tensor<float> scale;
  CHECK(scale.create_output({4}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnMoeInitRoutingV3GetWorkspaceSize(
      x.get(), expert_idx.get(), nullptr, nullptr, 0, 0, 3, 0, 1, true, 1, range, 0, y.get(),
      row_idx.get(), counts.get(), scale.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnMoeInitRoutingV3(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(aclDestroyIntArray(range));

  CHECK(print("result", y));
  CHECK(print("row", row_idx));
  CHECK(print("scale", scale));
  return 0;
}
