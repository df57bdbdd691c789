// aclnnDynamicMxQuantV2: as V1, and the greatest number before rounding that scaleAlg 2 allows. Two
// codes of float4 share a byte, the first one its low half.
#include "aclnnop/aclnn_dynamic_mx_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // 6.5 is at most 7, so the power is 1 and its byte 127; by 6, what the greatest code stands for,
  // it would be 2. The numbers become 6 -1 3 0.5 (2.5 is a tie), their codes are 7 10 5 1: 0xA7,
  // 0x15.
  Tensor<uint16_t> x;
  CHECK(x.create({1, 4}, ACL_FLOAT16, to_halves({6.5f, -1, 2.5f, 0.375f})));
  Tensor<uint8_t> y, mxscale;
  CHECK(y.create({1, 4}, ACL_FLOAT4_E2M1, std::vector<uint8_t>(4 / 2)));
  CHECK(mxscale.create_output({1, 1, 2}, ACL_FLOAT8_E8M0));
  char round_mode[] = "round";
  const int64_t axis = -1, block = 32, scale_alg = 2;
  const double dst_type_max = 7;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicMxQuantV2GetWorkspaceSize(x.get(), axis, round_mode, ACL_FLOAT4_E2M1, block,
                                              scale_alg, dst_type_max, y.get(), mxscale.get(),
                                              &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicMxQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", mxscale));
  return 0;
}
