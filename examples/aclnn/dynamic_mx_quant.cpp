// aclnnDynamicMxQuant: float8 codes of columns, and a power of two per 32 rows of each, as weights
// have.
#include "aclnnop/aclnn_dynamic_mx_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Each column is one block, cut short. 3 is below 2^2 and 500 below 2^9: the exponents 1 and 8,
  // less the 8 of 448, give the bytes 127 - 7 and 127, and 2^7 and 1 times the columns is 128 -256
  // 384 and 500 0.25 0, of which 500 becomes 448. The two blocks that there are no rows for have
  // the bytes 0.
  Tensor<uint16_t> x;
  CHECK(x.create({3, 2}, ACL_FLOAT16, to_halves({1, 500, -2, 0.25f, 3, 0})));
  Tensor<uint8_t> y, mxscale;
  CHECK(y.create_output({3, 2}, ACL_FLOAT8_E4M3FN));
  CHECK(mxscale.create_output({1, 2, 2}, ACL_FLOAT8_E8M0));
  char round_mode[] = "rint";
  const int64_t axis = 0, block = 32, scale_alg = 0;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicMxQuantGetWorkspaceSize(x.get(), axis, round_mode, ACL_FLOAT8_E4M3FN, block,
                                            scale_alg, y.get(), mxscale.get(), &workspace_size,
                                            &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicMxQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", mxscale));
  return 0;
}
