// exp(x), correctly rounded (docs/numerics.md 17): computed in float64, then rounded to float32.
//
//   x = k * ln 2 + r     |r| <= ln 2 / 2     exp(x) = 2^k * P(r)
//
// Over all floats the exponential lies at least 1.27 ulp of float64 from a middle between two
// floats, so a float64 that is less than 1.2 ulp off rounds to the right one. P differs from exp(r)
// by 2^-57.9 of it (minimax, degree 11); its evaluation adds less than an ulp. Proof, over all 2^32
// floats on each target: tests/cpp/test_exp.cpp.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

using I64 = Vec<int64_t>;

// a * b + c, rounded once or twice.
NPU_QUANT_INLINE F64 multiply_add(F64 a, F64 b, F64 c) {
  if constexpr (kHasFma) return fma(a, b, c);
  return a * b + c;
}

// Of x from -105 to 90, where 2^k is a normal float64.
NPU_QUANT_INLINE F64 exp(F64 x) {
  // A sum with 1.5 * 2^52 has k in its last bits; of ln 2 the first 42 bits times k are exact.
  constexpr double kMagic = 0x1.8p52, kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
  constexpr double kP[] = {0x1.ad7f3f371cf25p-26,
                           0x1.28ad9c4caeb3cp-22,
                           0x1.71df25b50eb43p-19,
                           0x1.a01999e17efb9p-16,
                           0x1.a01a012a0ceeap-13,
                           0x1.6c16c18439082p-10,
                           0x1.1111111127d1bp-7,
                           0x1.555555555083dp-5,
                           0x1.55555555554f9p-3,
                           0x1.000000000000ap-1,
                           1,
                           1};
  const F64 shifted = multiply_add(x, F64{} + kLog2E, F64{} + kMagic);
  const F64 k = shifted - kMagic;
  const F64 r = multiply_add(k, F64{} - kLn2Low, multiply_add(k, F64{} - kLn2High, x));
  F64 p = F64{} + kP[0];
#pragma GCC unroll 16
  for (int i = 1; i < 12; ++i) p = multiply_add(p, r, F64{} + kP[i]);
  return bit_cast<F64>(bit_cast<I64>(p) + (bit_cast<I64>(shifted) << 52));
}

// 0 and infinity beyond the range, subnormal results, NaN for NaN.
NPU_QUANT_INLINE F32 exp(F32 x) {
  F64 wide[2];
  widen_float32(min(max(x, broadcast(-105)), broadcast(90)), wide);
  const F32 y = narrow_float64(exp(wide[0]), exp(wide[1]));
  return x == x ? y : x;
}

}  // namespace
}  // namespace npu_quant
