// What an int32 sum of products of codes stands for (docs/numerics.md 18):
//   v = float(x + bias) * weight_scale * activation_scale         an integer bias; the sum wraps
//   v = float(x) * weight_scale * activation_scale + bias         a float one
// Every step rounds to binary32 by itself. A scale that is not given is 1.
#pragma once

#include "kernels/elementwise/args.h"
#include "simd/vec.h"

namespace npu_quant {
namespace {

NPU_QUANT_INLINE F32 dequantized(F32 v, F32 weight_scale, F32 activation_scale, F32 bias) {
  return v * weight_scale * activation_scale + bias;
}

// An integer bias comes as any four bytes.
template <Bias kind>
NPU_QUANT_INLINE F32 dequantized(I32 x, F32 weight_scale, F32 activation_scale, F32 bias) {
  if (kind == Bias::integer) x = bit_cast<I32>(bit_cast<U32>(x) + bit_cast<U32>(bias));
  const F32 v = __builtin_convertvector(x, F32);
  return dequantized(v, weight_scale, activation_scale,
                     kind == Bias::real ? bias : broadcast(-0.0f));
}

}  // namespace
}  // namespace npu_quant
