// aclnnFakeQuantPerTensorAffineCachemask: what quantization would leave of each value, and which
// values were inside the range.
#include "aclnnop/aclnn_fake_quant_per_tensor_affine_cachemask.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x / 0.5 is 1.2 2.5 -4.5 200 -200 0. Rounded and plus 2: 3 4 -2 202 -198 2. The range leaves
  // 3 4 -2 5 -4 2; minus 2 and times 0.5: 0.5 1 -2 1.5 -3 0.
  Tensor<float> self, scale;
  CHECK(self.create({2, 3}, ACL_FLOAT, {0.6f, 1.25f, -2.25f, 100, -100, 0}));
  CHECK(scale.create({1}, ACL_FLOAT, {0.5f}));
  Tensor<int32_t> zero_point;
  CHECK(zero_point.create({1}, ACL_INT32, {2}));
  const float is_enabled = 1;
  const int64_t quant_min = -4, quant_max = 5;
  Tensor<float> out;
  Tensor<uint8_t> mask;
  CHECK(out.create_output({2, 3}, ACL_FLOAT));
  CHECK(mask.create_output({2, 3}, ACL_BOOL));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnFakeQuantPerTensorAffineCachemaskGetWorkspaceSize(
      self.get(), scale.get(), zero_point.get(), is_enabled, quant_min, quant_max, out.get(),
      mask.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnFakeQuantPerTensorAffineCachemask(workspace.address(), workspace_size, executor,
                                               device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  CHECK(print("mask", mask));
  return 0;
}
