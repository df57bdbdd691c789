// aclnnInplaceQuantScatterV2: tokens join pages of HiFloat8, each at a place of its own.
#include "aclnnop/aclnn_quant_scatter_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Two pages of two tokens; the first token goes to place 1 of page 0, the second to place 1 of
  // page 1. 1, -1.5, 300 and 0.1 are 8, 140, 96 and 82.
  Tensor<uint8_t> cache;
  CHECK(cache.create({2, 2, 2}, ACL_HIFLOAT8, std::vector<uint8_t>(8)));
  Tensor<int64_t> indices;
  CHECK(indices.create({2, 2}, ACL_INT64, {0, 1, 1, 1}));
  Tensor<uint16_t> updates;
  CHECK(updates.create({2, 1, 2}, ACL_FLOAT16, to_halves({1, -1.5f, 300, 0.1f})));
  Tensor<float> scales;
  CHECK(scales.create({2}, ACL_FLOAT, {1, 1}));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnInplaceQuantScatterV2GetWorkspaceSize(cache.get(), indices.get(), updates.get(),
                                                   scales.get(), nullptr, -2, -1, 1, "round",
                                                   &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnInplaceQuantScatterV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", cache));
  return 0;
}
