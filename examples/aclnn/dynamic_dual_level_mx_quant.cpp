// aclnnDynamicDualLevelMxQuant: codes of four bits by a scale of 512 elements and a power of two of
// 32.
#include "aclnnop/aclnn_dynamic_dual_level_mx_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // 96 / 6 is the scale, 16: 6, -2.5, 0.09 and 3 are left, of which -2.5 becomes -2 and 0.09 0; the
  // byte is 127, which stands for 1. The codes are 7 and 12, 0 and 5, two in a byte.
  Tensor<uint16_t> x;
  CHECK(x.create({1, 4}, ACL_FLOAT16, to_halves({96, -40, 1.5f, 48})));
  Tensor<uint8_t> y, level1_scale;
  CHECK(y.create({1, 4}, ACL_FLOAT4_E2M1, std::vector<uint8_t>(4 / 2)));
  Tensor<float> level0_scale;
  CHECK(level0_scale.create_output({1, 1}, ACL_FLOAT));
  CHECK(level1_scale.create_output({1, 1, 2}, ACL_FLOAT8_E8M0));
  char round_mode[] = "rint";
  const int64_t group = 512, block = 32;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicDualLevelMxQuantGetWorkspaceSize(
      x.get(), nullptr, round_mode, group, block, y.get(), level0_scale.get(), level1_scale.get(),
      &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(
      aclnnDynamicDualLevelMxQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", level0_scale));
  CHECK(print("scale2", level1_scale));
  return 0;
}
