// Division at the cost of multiplying.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

// A condition as all bits or none, of a scalar as of lanes.
NPU_QUANT_INLINE int32_t mask_of(bool condition) { return -int32_t{condition}; }
NPU_QUANT_INLINE I32 mask_of(I32 condition) { return condition; }

// Subnormal numbers become zeros of their sign.
template <class F>
NPU_QUANT_INLINE F flushed(F v) {
  using Bits = decltype(mask_of(v < v));
  const auto bits = bit_cast<Bits>(v);
  const Bits is_tiny = mask_of(bit_cast<F>(bits & INT32_MAX) < F{} + 0x1p-126f);
  return bit_cast<F>(bits & ~(is_tiny & INT32_MAX));
}

// div(a, b) of docs/numerics.md 4: the division of a device that knows no subnormal numbers.
template <class F>
NPU_QUANT_INLINE F flushed_quotient(F a, F b) {
  return flushed(flushed(a) / flushed(b));
}

// fl(v / scale), from reciprocal = fl(1 / scale): Markstein's division. Right for every v and scale
// whose reciprocal, quotient and remainder are normal numbers; NaN for infinite v and quotients.
// Proof: tests/cpp/test_exact_division.cpp, over every pair that could come out wrong.
NPU_QUANT_INLINE F32 corrected_quotient(F32 v, F32 scale, F32 reciprocal) {
  const F32 q = v * reciprocal;
  const F32 remainder = fma(-q, scale, v);
  return fma(remainder, reciprocal, q);
}

// The code of x / scale + zero_point by one multiplication: floor(w / 2^16) of
//
//   w = rint(fl(x * factor + offset))     factor = fl(2^16 / scale)
//                                         offset = fl(2^16 * zero_point + 2^15 + 4)
//
// which counts steps of 2^-16, and is a half and 4 steps more than the sum. Where two codes meet
// and the zero point is in their range, |x / scale| < 255, and what is rounded comes to less than 4
// steps: by the factor 1, by the offset and the product (unless fused) 1/2 each, by the sum and
// rint 3/4, and in the formula by the quotient and the sum 1/2 each. So the floor is the code
// unless w is less than 8 above a multiple of 2^16: saturated_floors() does not decide that. Proof:
// tests/cpp/test_exact_division.cpp, over every x for some scales, and next to all meetings.
inline constexpr float kStepsPerCode = 0x1p16f;

NPU_QUANT_INLINE F32 steps_of_sum(F32 x, F32 factor, F32 offset) {
  if constexpr (kHasFma) return fma(x, factor, offset);
  return x * factor + offset;
}

// NaN, which nothing is decided by, for a zero point beyond the codes. F: float or F32.
template <class F>
NPU_QUANT_INLINE F offset_of(F zero_point, float least, float greatest) {
  const F offset = zero_point * kStepsPerCode + (kStepsPerCode / 2 + kUndecided / 2);
  const auto in_range = (zero_point >= F{} + least) & (zero_point <= F{} + greatest);
  return in_range ? offset : F{} + __builtin_nanf("");
}

// NaN where a reciprocal would be subnormal, or the remainder of a quotient that could matter
// beside the ties of a zero point.
template <class F>
NPU_QUANT_INLINE F factor_of(F scale, float steps) {
  const F magnitude = max(scale, -scale);
  const auto in_range = (magnitude >= F{} + 0x1p-50f) & (magnitude <= F{} + 0x1p100f);
  return in_range ? steps / scale : F{} + __builtin_nanf("");
}

// The same, 1 / scale, for codes whose zeros have signs: beside an offset a quotient's sign of zero
// is nothing, without one it decides.
template <class F>
NPU_QUANT_INLINE F factor_beside(F scale, F offset) {
  return offset != F{} ? factor_of(scale, 1) : F{} + __builtin_nanf("");
}

}  // namespace
}  // namespace npu_quant
