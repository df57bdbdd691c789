#include "ops/split/quantize_parameters.h"

#include <cmath>
#include <cstring>

#include "core/dispatch.h"
#include "kernels/elementwise/args.h"

namespace npu_quant {

// x / 2^k is x * 2^-k to the bit, and ties, which are common there, take no longer.
void QuantizeParameters::multiply_where_exact() {
  float value;
  std::memcpy(&value, scale.data(), sizeof value);
  int exponent;
  if (std::frexp(std::abs(value), &exponent) != 0.5f || std::abs(value) < 0x1p-127f) return;
  scale.assign(1.0 / static_cast<double>(value));
  divide = false;
}

Status QuantizeParameters::prepare_division(const char* op, Format codes, int64_t channels) {
  divide = true;
  if (channels == 1) multiply_where_exact();
  if (!divide) return {};
  NPU_QUANT_RETURN_IF_ERROR(factor.allocate(op, channels));
  NPU_QUANT_RETURN_IF_ERROR(offset.allocate(op, channels));
  run_on_active_target<StepsKernel>(
      {codes, channels, scale.data(), zero_point.data(), factor.data(), offset.data()});
  return {};
}

char* QuantizeParameters::of_kernel(int parameter) const {
  switch (parameter) {
    case QuantizeKernel::kZeroPoint: return zero_point.data();
    case QuantizeKernel::kFactor: return divide ? factor.data() : scale.data();
    case QuantizeKernel::kOffset: return divide ? offset.data() : scale.data();
    default: return scale.data();
  }
}

}  // namespace npu_quant
