// aclnnSwiGluQuantV2: as V1, with groups as numbers of rows and codes of four bits.
#include "aclnnop/aclnn_swi_glu_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // The first half is the gate: 20 * 0.5 is 10, and 40 * -1.5 is -60. Times 0.25, and 1 more, that
  // is 3.5, a tie that becomes 4, and -14, which becomes -8: codes 4 and 8, two in a byte.
  Tensor<float> x, smooth_scales, offsets, scale;
  CHECK(x.create({1, 4}, ACL_FLOAT, {20, 40, 0.5f, -1.5f}));
  CHECK(smooth_scales.create({1, 2}, ACL_FLOAT, {0.25f, 0.25f}));
  CHECK(offsets.create({1, 2}, ACL_FLOAT, {1, 1}));
  Tensor<int32_t> group_index;
  CHECK(group_index.create({1}, ACL_INT32, {1}));
  Tensor<uint8_t> y;
  CHECK(y.create({1, 2}, ACL_INT4, std::vector<uint8_t>(2 / 2)));
  CHECK(scale.create_output({1}, ACL_FLOAT));
  const bool activate_left = true;
  char quant_mode[] = "static";
  const int64_t counts = 1;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnSwiGluQuantV2GetWorkspaceSize(
      x.get(), smooth_scales.get(), offsets.get(), group_index.get(), activate_left, quant_mode,
      counts, ACL_INT4, y.get(), scale.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnSwiGluQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  return 0;
}
