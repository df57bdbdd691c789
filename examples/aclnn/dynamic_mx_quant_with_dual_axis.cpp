// aclnnDynamicMxQuantWithDualAxis: float8 codes of rows and of columns of one array, each with its
// own powers of two, as training needs weights and gradients.
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Each row and each column is one block, cut short. The exponents 1 and 8 of the rows, less the 8
  // of 448, give the bytes 120 and 127, and 2^7 and 1 times the rows is 128 -384 and 1 448: 500 is
  // beyond it. Those of the columns, 0 and 8, give 119 and 127, and 2^8 and 1 times the columns is
  // 256 256 and -3 448. The blocks that there is nothing for have the bytes 0.
  Tensor<uint16_t> x;
  CHECK(x.create({2, 2}, ACL_FLOAT16, to_halves({1, -3, 1, 500})));
  Tensor<uint8_t> y1, mxscale1, y2, mxscale2;
  CHECK(y1.create_output({2, 2}, ACL_FLOAT8_E4M3FN));
  CHECK(mxscale1.create_output({2, 1, 2}, ACL_FLOAT8_E8M0));
  CHECK(y2.create_output({2, 2}, ACL_FLOAT8_E4M3FN));
  CHECK(mxscale2.create_output({1, 2, 2}, ACL_FLOAT8_E8M0));
  char round_mode[] = "rint";
  const int64_t scale_alg = 0;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicMxQuantWithDualAxisGetWorkspaceSize(
      x.get(), round_mode, ACL_FLOAT8_E4M3FN, scale_alg, y1.get(), mxscale1.get(), y2.get(),
      mxscale2.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicMxQuantWithDualAxis(workspace.address(), workspace_size, executor,
                                        device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y1));
  CHECK(print("scale", mxscale1));
  CHECK(print("result2", y2));
  CHECK(print("scale2", mxscale2));
  return 0;
}
