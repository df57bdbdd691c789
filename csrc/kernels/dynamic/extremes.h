// The greatest and the least of values, and what they become (docs/numerics.md 12).
#pragma once

#include "kernels/dynamic/divide.h"

namespace npu_quant {
namespace {

// Floats as integers of the same order. The key of -v is ~ that of v.
template <class In>
struct Keys {
  using Int = typename In::Amax::Bits;
  using Vector = Vec<Int>;
  static constexpr int64_t kItem = sizeof(Int), kCount = kVectorBytes / kItem;

  static NPU_QUANT_INLINE Vector turned(Vector bits) { return in_order<Int>(bits); }
  static NPU_QUANT_INLINE Vector at(const char* x) { return turned(load<Vector>(x)); }
  // Of a vector at least, or else of `count` values and the first one again and again.
  static NPU_QUANT_INLINE Vector some_at(const char* x, int64_t count) {
    if (count >= kCount) return at(x);
    alignas(64) char values[kVectorBytes];
    for (int64_t i = 0; i < kCount; ++i)
      std::memcpy(values + i * kItem, x + (i < count ? i : 0) * kItem, kItem);
    return at(values);
  }
  // The numbers of kLanes keys that have been turned back.
  static NPU_QUANT_INLINE F32 numbers(const Int* bits) {
    if constexpr (In::kIs16Bit)
      return In::widen_lanes(bits);
    else
      return load<F32>(bits);
  }
};

// The running greatest and least key of each lane; at first those of nothing, -inf and inf.
template <class In>
struct Extremes {
  using K = Keys<In>;
  typename K::Vector hi = ~(typename K::Vector{} + In::kInfinity);
  typename K::Vector lo = typename K::Vector{} + In::kInfinity;

  NPU_QUANT_INLINE void include(typename K::Vector key) {
    hi = max(hi, key);
    lo = min(lo, key);
  }
  NPU_QUANT_INLINE void include(const Extremes& other) {
    hi = max(hi, other.hi);
    lo = min(lo, other.lo);
  }
  // Those of all lanes, in the first one.
  NPU_QUANT_INLINE Extremes of_all() const {
    using Int = typename K::Int;
    Extremes all;
    all.hi[0] = horizontal_max<Int, kVectorBytes>(hi);
    all.lo[0] = static_cast<Int>(~horizontal_max<Int, kVectorBytes>(~lo));
    return all;
  }
};

NPU_QUANT_INLINE F32 magnitude(F32 v) { return bit_cast<F32>(magnitude_bits(v)); }
NPU_QUANT_INLINE F32 plain_nan() { return broadcast(bit_cast<float>(kQuietNaNBits)); }

// Of a group per lane. The offset is -0 where there is none, which adds nothing.
struct ScaleAndOffset {
  F32 scale, offset;
  F32 multiplier = {};  // of values, where the rule has them multiplied
};

// What the offset of a group is counted by, and its codes: hi / scale or div(hi, scale).
NPU_QUANT_INLINE F32 quotient_of(const Rule& rule, F32 v, F32 scale) {
  return rule.code == CodeForm::flushed_quotient ? flushed_quotient(v, scale) : v / scale;
}

NPU_QUANT_INLINE F32 scale_of_range(const Rule& rule, F32 range) {
  constexpr float kLeastScale = 1e-12f;
  if (rule.scale == ScaleForm::product)
    range *= 1 / rule.range;
  else if (rule.scale == ScaleForm::quotient)
    range /= rule.range;
  else
    __builtin_trap();
  switch (rule.least_scale) {
    case LeastScale::keeps_nan: return range < kLeastScale ? broadcast(kLeastScale) : range;
    case LeastScale::replaces_nan: return range > kLeastScale ? range : broadcast(kLeastScale);
    case LeastScale::none: return range;
  }
  __builtin_trap();
}

// Extremes of nothing are -inf and inf, and count as zeros.
NPU_QUANT_INLINE ScaleAndOffset scale_and_offset(const Rule& rule, bool symmetric, F32 hi, F32 lo) {
  const I32 is_empty = hi < lo;
  hi = is_empty ? F32{} : hi;
  lo = is_empty ? F32{} : lo;
  F32 scale, multiplier, offset = broadcast(-0.0f);
  if (symmetric) {
    const F32 amax = max(magnitude(hi), magnitude(lo));
    scale = scale_of(rule, amax);
    multiplier = multiplier_of(rule, amax);
  } else {
    scale = scale_of_range(rule, hi - lo);
    multiplier = 1 / scale;
    offset = rule.greatest - quotient_of(rule, hi, scale);
  }
  return {scale == scale ? scale : plain_nan(), offset == offset ? offset : plain_nan(),
          multiplier};
}

}  // namespace
}  // namespace npu_quant
