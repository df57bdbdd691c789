// aclnnDynamicBlockQuant: int8 codes and one scale per block of 1 x 128, at most 1 / minScale.
#include "aclnnop/aclnn_dynamic_block_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Each row is one block, cut short. Scales: 127 / 127 = 1, and 508 / 127 = 4, of which
  // 1 / 0.5 = 2 is left. Quotients: 127 -1 0.5, and 254 50 -1.5, of which 254 saturates.
  Tensor<uint16_t> x;
  CHECK(x.create({2, 3}, ACL_FLOAT16, to_halves({127, -1, 0.5f, 508, 100, -3})));
  Tensor<int8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({2, 3}, ACL_INT8));
  CHECK(scale.create_output({2, 1}, ACL_FLOAT));
  const double min_scale = 0.5;
  char round_mode[] = "rint";
  const int64_t rows = 1, columns = 128;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicBlockQuantGetWorkspaceSize(x.get(), min_scale, round_mode, ACL_INT8, rows,
                                               columns, y.get(), scale.get(), &workspace_size,
                                               &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicBlockQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
