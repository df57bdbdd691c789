// aclnnDynamicMxQuantV3: as V2, and a least number for the greatest of a block with scaleAlg 1.
#include "aclnnop/aclnn_dynamic_mx_quant_v3.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // 896 is 448 * 2, so the first row has the byte 128 and becomes 448 0.5. 0.5 counts as 448: the
  // second row has the byte 127 and stays as it is.
  Tensor<uint16_t> x;
  CHECK(x.create({2, 2}, ACL_FLOAT16, to_halves({896, 1, 0.5f, -0.25f})));
  Tensor<uint8_t> y, mxscale;
  CHECK(y.create_output({2, 2}, ACL_FLOAT8_E4M3FN));
  CHECK(mxscale.create_output({2, 1, 2}, ACL_FLOAT8_E8M0));
  char round_mode[] = "rint";
  const int64_t axis = -1, block = 32, scale_alg = 1;
  const double dst_type_max = 0, max_low_bound = 448;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicMxQuantV3GetWorkspaceSize(x.get(), axis, round_mode, ACL_FLOAT8_E4M3FN, block,
                                              scale_alg, dst_type_max, max_low_bound, y.get(),
                                              mxscale.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicMxQuantV3(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", mxscale));
  return 0;
}
