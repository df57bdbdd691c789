// aclnnDynamicQuantV2 of tokens that are sorted by expert: each expert has smooth scales of its
// own, and groupIndex says where its tokens end.
#include "aclnnop/aclnn_dynamic_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Token 0 is the first expert's, the second has none, tokens 1 to 3 are the third's. So x times
  // smooth is 127 -2, then 254 254, 127 63.5 and 0 -127: scales 1, then 2, 1 and 1. 63.5
  // becomes 64.
  Tensor<uint16_t> x, smooth;
  CHECK(x.create({4, 2}, ACL_FLOAT16, to_halves({127, -2, 127, 508, 63.5f, 127, 0, -254})));
  CHECK(smooth.create({3, 2}, ACL_FLOAT16, to_halves({1, 1, 9, 9, 2, 0.5f})));
  Tensor<int32_t> group_index;
  CHECK(group_index.create({3}, ACL_INT32, {1, 1, 4}));
  Tensor<int8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({4, 2}, ACL_INT8));
  CHECK(scale.create_output({4}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicQuantV2GetWorkspaceSize(x.get(), smooth.get(), group_index.get(), ACL_INT8,
                                            y.get(), scale.get(), nullptr, &workspace_size,
                                            &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
