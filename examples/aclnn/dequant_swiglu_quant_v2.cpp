// aclnnDequantSwigluQuantV2: as V1, here the clamped unit of even and odd elements, in a format of
// four bits.
#include "aclnnop/aclnn_dequant_swiglu_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // The even elements are 20 and 40, of which 32 is left, the odd ones 1.5 and -40, of which -32 is
  // left; 1 more is 2.5 and -31. That makes 50 and -992, whose scale is 992 / 6: 0.3 lies between 0
  // and 0.5, and becomes 0; the codes are 0 and 15, two in a byte.
  Tensor<uint16_t> x;
  CHECK(x.create({1, 4}, ACL_FLOAT16, to_halves({20, 1.5f, 40, -40})));
  Tensor<uint8_t> y;
  CHECK(y.create({1, 2}, ACL_FLOAT4_E2M1, std::vector<uint8_t>(2 / 2)));
  Tensor<float> scale;
  CHECK(scale.create_output({1}, ACL_FLOAT));
  const bool activate_left = true;
  char quant_mode[] = "dynamic", round_mode[] = "trunc";
  const int64_t dim = -1, even_and_odd = 1;
  const double limit = 32, alpha = 1, bias = 1;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDequantSwigluQuantV2GetWorkspaceSize(
      x.get(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, activate_left, quant_mode,
      ACL_FLOAT4_E2M1, round_mode, dim, even_and_odd, limit, alpha, bias, y.get(), scale.get(),
      &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDequantSwigluQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
