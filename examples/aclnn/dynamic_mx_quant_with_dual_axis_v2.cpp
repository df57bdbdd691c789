// aclnnDynamicMxQuantWithDualAxisV2: as V1, and the greatest number before rounding that scaleAlg 2
// allows. Two codes of float4 share a byte, the first one its low half.
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Each row and each column is one block, cut short. The least powers with 6.5 and 3 at most 7
  // times as great are 1 and 1/2, of the bytes 127 and 126: the rows become 6 -1 and 6 1, of the
  // codes 7 10 and 7 2, in the bytes 0xA7 and 0x27. For the columns, of 6.5 and 1, they are 1 and
  // 1/4: 6 3 and -4 2, of the codes 7 5 and 14 4, row by row in the bytes 0xE7 and 0x45.
  Tensor<uint16_t> x;
  CHECK(x.create({2, 2}, ACL_FLOAT16, to_halves({6.5f, -1, 3, 0.5f})));
  Tensor<uint8_t> y1, mxscale1, y2, mxscale2;
  CHECK(y1.create({2, 2}, ACL_FLOAT4_E2M1, std::vector<uint8_t>(4 / 2)));
  CHECK(mxscale1.create_output({2, 1, 2}, ACL_FLOAT8_E8M0));
  CHECK(y2.create({2, 2}, ACL_FLOAT4_E2M1, std::vector<uint8_t>(4 / 2)));
  CHECK(mxscale2.create_output({1, 2, 2}, ACL_FLOAT8_E8M0));
  char round_mode[] = "round";
  const int64_t scale_alg = 2;
  const double dst_type_max = 7;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicMxQuantWithDualAxisV2GetWorkspaceSize(
      x.get(), round_mode, ACL_FLOAT4_E2M1, scale_alg, dst_type_max, y1.get(), mxscale1.get(),
      y2.get(), mxscale2.get(), &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicMxQuantWithDualAxisV2(workspace.address(), workspace_size, executor,
                                          device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y1));
  CHECK(print("scale", mxscale1));
  CHECK(print("result2", y2));
  CHECK(print("scale2", mxscale2));
  return 0;
}
