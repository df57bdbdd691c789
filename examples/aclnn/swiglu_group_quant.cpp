// aclnnSwigluGroupQuant: a gated linear unit in float8, of the rows that experts have, each block
// by a power of two.
#include "aclnnop/aclnn_swiglu_group_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // 20 * 32 is 640 and 32 * -2 is -64: 640 / 448 lies below 2, the byte 128, by which they are 320
  // and -32. The experts have one row each; the last row is of none.
  Tensor<uint16_t> x;
  CHECK(x.create({3, 4}, ACL_FLOAT16, to_halves({20, 32, 32, -2, 20, 32, 16, -1, 1, 1, 1, 1})));
  Tensor<int64_t> group_index;
  CHECK(group_index.create({2}, ACL_INT64, {1, 1}));
  Tensor<uint8_t> y, scale;
  CHECK(y.create_output({3, 2}, ACL_FLOAT8_E4M3FN));
  CHECK(scale.create_output({3, 1, 2}, ACL_FLOAT8_E8M0));
  const int64_t mx = 1, block_size = 0;
  const bool round_scale = true, output_origin = false;
  const double no_limit = -1, greatest = 15;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnSwigluGroupQuantGetWorkspaceSize(x.get(), nullptr, group_index.get(), nullptr,
                                              ACL_FLOAT8_E4M3FN, mx, block_size, round_scale,
                                              no_limit, greatest, output_origin, y.get(),
                                              scale.get(), nullptr, &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnSwigluGroupQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
