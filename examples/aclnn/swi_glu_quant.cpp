// aclnnSwiGluQuant: the halves of a row gated, then the row quantized by what its greatest value
// becomes 127 with.
#include "aclnnop/aclnn_swi_glu_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // The second half is the gate: 20 * 0.5 is 10, 40 * -1.5 is -60. Times 2 that is 20 and -120, and
  // 127 / 120 the scale, by which they are multiplied. Row 1 is behind the only group, which ends
  // at row 1: its values stay 10 and 40.
  Tensor<float> x, smooth_scales, scale;
  CHECK(x.create({2, 4}, ACL_FLOAT, {0.5f, -1.5f, 20, 40, 0.5f, 1, 20, 40}));
  CHECK(smooth_scales.create({1}, ACL_FLOAT, {2}));
  Tensor<int32_t> group_index;
  CHECK(group_index.create({1}, ACL_INT32, {1}));
  Tensor<int8_t> y;
  CHECK(y.create_output({2, 2}, ACL_INT8));
  CHECK(scale.create_output({2}, ACL_FLOAT));
  const bool activate_left = false;
  char quant_mode[] = "dynamic";

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnSwiGluQuantGetWorkspaceSize(x.get(), smooth_scales.get(), nullptr, group_index.get(),
                                         activate_left, quant_mode, y.get(), scale.get(),
                                         &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnSwiGluQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
