// One value and back, as PyTorch's documentation of its quantizers prints it (its source is
// aten/src/ATen/native/quantized/AffineQuantizerBase.cpp). The array form is ops/quantize_val.h.
//
// Both compute in the caller's floating-point environment, as the original says of its rounding;
// in the default one, rounding to nearest even, they give the bits of the array form.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "quantizer/scalar_type.h"

namespace npu_quant {

inline float Round(float x) { return std::nearbyint(x); }

// static_cast<int64_t>, and what that leaves undefined: what is too large saturates, and NaN counts
// as below everything.
inline int64_t to_int64(float x) {
  if (x >= 0x1p63f) return std::numeric_limits<int64_t>::max();
  return x >= -0x1p63f ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
}

template <typename T>
T quantize_val(double scale, int64_t zero_point, float value) {
  constexpr int64_t qmin = std::numeric_limits<typename T::underlying>::min();
  constexpr int64_t qmax = std::numeric_limits<typename T::underlying>::max();
  const float inv_scale = 1.0f / static_cast<float>(scale);
  // The sum is one of floats.
  int64_t qvalue = to_int64(static_cast<float>(zero_point) + Round(value * inv_scale));
  qvalue = std::max<int64_t>(qvalue, qmin);
  qvalue = std::min<int64_t>(qvalue, qmax);
  return T(static_cast<typename T::underlying>(qvalue));
}

template <typename T>
float dequantize_val(double scale, int64_t zero_point, T value) {
  // The difference is one of int32; unsigned, so that it may wrap.
  const auto steps =
      static_cast<int32_t>(static_cast<uint32_t>(value.val_) - static_cast<uint32_t>(zero_point));
  return static_cast<float>(scale) * static_cast<float>(steps);
}

}  // namespace npu_quant
