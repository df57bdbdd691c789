// What an int32 sum of products of codes stands for (docs/numerics.md 19):
//   v = float(x + bias) * weight_scale * activation_scale         an integer bias; the sum wraps
//   v = float(x) * weight_scale * activation_scale + bias         a float one
// Every step rounds to binary32 by itself. A scale that is not given is 1, and a bias is -0, which
// adds nothing.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

// An integer bias comes as any four bytes.
template <bool bias_is_integer>
NPU_QUANT_INLINE F32 dequantized(I32 x, F32 weight_scale, F32 activation_scale, F32 bias) {
  if constexpr (bias_is_integer) x = bit_cast<I32>(bit_cast<U32>(x) + bit_cast<U32>(bias));
  const F32 v = __builtin_convertvector(x, F32) * weight_scale * activation_scale;
  return bias_is_integer ? v : v + bias;
}

}  // namespace
}  // namespace npu_quant
