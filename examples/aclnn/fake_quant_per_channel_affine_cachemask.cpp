// aclnnFakeQuantPerChannelAffineCachemask: as per tensor, with a scale and a zero point per
// channel.
#include "aclnnop/aclnn_fake_quant_per_channel_affine_cachemask.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Columns are channels. self / scale is 2.5 1.5 2.5 and -18 -20 50; rounded and plus the zero
  // points: 2 3 1 and -18 -19 49. The range leaves 2 3 1 and -8 -8 7; minus the zero points and
  // times the scales: 1 2 4 and -4 -9 16.
  Tensor<float> self, scale;
  CHECK(self.create({2, 3}, ACL_FLOAT, {1.25f, 1.5f, 5, -9, -20, 100}));
  CHECK(scale.create({3}, ACL_FLOAT, {0.5f, 1, 2}));
  Tensor<int32_t> zero_point;
  CHECK(zero_point.create({3}, ACL_INT32, {0, 1, -1}));
  const int64_t axis = 1, quant_min = -8, quant_max = 7;
  Tensor<float> out;
  Tensor<uint8_t> mask;
  CHECK(out.create_output({2, 3}, ACL_FLOAT));
  CHECK(mask.create_output({2, 3}, ACL_BOOL));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnFakeQuantPerChannelAffineCachemaskGetWorkspaceSize(
      self.get(), scale.get(), zero_point.get(), axis, quant_min, quant_max, out.get(), mask.get(),
      &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnFakeQuantPerChannelAffineCachemask(workspace.address(), workspace_size, executor,
                                                device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  CHECK(print("mask", mask));
  return 0;
}
