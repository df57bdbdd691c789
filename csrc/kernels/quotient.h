// Division at the cost of multiplying.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

// fl(v / scale), from reciprocal = fl(1 / scale): Markstein's division. Right for every v and scale
// whose reciprocal, quotient and remainder are normal numbers; NaN for infinite v and quotients.
// Proof: tests/cpp/test_exact_division.cpp, over every pair that could come out wrong.
NPU_QUANT_INLINE F32 corrected_quotient(F32 v, F32 scale, F32 reciprocal) {
  const F32 q = v * reciprocal;
  const F32 remainder = fma(-q, scale, v);
  return fma(remainder, reciprocal, q);
}

}  // namespace
}  // namespace npu_quant
