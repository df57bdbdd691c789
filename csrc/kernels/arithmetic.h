// How a value becomes a code: docs/numerics.md 2. `F` is float (one group) or F32 (a group per
// lane): same formula.
#pragma once

#include "core/rule.h"
#include "kernels/quotient.h"
#include "simd/codes.h"

namespace npu_quant {
namespace {

// y = sat8(fl(v / scale)): NaN -> 0, out of range -> 127 / -128. The formula itself; right for
// every scale.
template <class In>
struct Divide {
  F32 scale;

  NPU_QUANT_INLINE I8 operator()(const Tile& v) const {
    I32 code[4];
    for (int i = 0; i < 4; ++i) code[i] = Int8::of(zero_for_nan(v.part[i] / scale));
    return In::pack(code);
  }
};

// The same for 16-bit v by one multiplication. A quotient of 16-bit values over amax/127 is a
// rounding tie or at least 2^-19 away from one, and the only tie is v = +-amax/2: a reciprocal that
// rounds this one right rounds all right. Proof: tests/cpp/test_exact_quotient.cpp, over every amax
// and every v.
template <class In>
struct MultiplyByNudged {
  F32 reciprocal;

  NPU_QUANT_INLINE I8 operator()(const Tile& v) const {
    I32 code[4];
    for (int i = 0; i < 4; ++i)
      code[i] = bit_cast<I32>(fma(v.part[i], reciprocal, F32{} + kRoundMagic));
    return In::pack(code);
  }
};

// The same for fp32 v: a reciprocal and one correction.
template <class In>
struct MultiplyAndCorrect {
  F32 reciprocal;
  F32 scale;

  NPU_QUANT_INLINE I8 operator()(const Tile& v) const {
    I32 code[4];
    for (int i = 0; i < 4; ++i)
      code[i] = bit_cast<I32>(corrected_quotient(v.part[i], scale, reciprocal) + kRoundMagic);
    return In::pack(code);
  }
};

// Which form is exact for a scale: the slow one, or the fast one of the values' type, which is
// MultiplyByNudged for 16 bits and MultiplyAndCorrect for fp32.
inline constexpr int32_t kDivide = 0, kFast = 1;

// Everything needed to round v / scale, of one group (F is float) or of a group per lane (F is
// F32).
template <class F, class Forms>
struct Divider {
  F scale;
  F reciprocal;
  Forms form;
};

template <class Bits, class F>
NPU_QUANT_INLINE F nudged_reciprocal(F amax, F scale) {
  const F reciprocal = 127 / amax;
  const F tie = amax / 2;
  const F wanted = tie / scale + kRoundMagic;
  const F got = fma(tie, reciprocal, F{} + kRoundMagic);
  Bits bits = bit_cast<Bits>(reciprocal);
  bits += got > wanted ? Bits{} - 1 : Bits{};
  bits += got < wanted ? Bits{} + 1 : Bits{};
  return bit_cast<F>(bits);
}

// The scale of a group.
template <class F>
NPU_QUANT_INLINE F scale_of(const Rule& rule, float most_scale, F amax) {
  const F unbounded = amax / rule.greatest;
  return unbounded > most_scale ? F{} + most_scale : unbounded;  // keeps NaN
}

// The same, and how its values are divided by it. Ints is int32_t for float, I32 for F32.
template <class In, class Ints, class F>
NPU_QUANT_INLINE Divider<F, Ints> divider_of(const Rule& rule, float most_scale, F amax) {
  const F scale = scale_of(rule, most_scale, amax);
  Divider<F, Ints> divider{scale, scale, Ints{} + kDivide};
  if constexpr (kHasFma) {
    // Within these bounds neither a reciprocal nor the remainder of a quotient that matters can
    // underflow. A bounded scale saturates, which only kDivide does.
    const auto in_range =
        (scale >= F{} + 0x1p-100f) & (scale <= F{} + 0x1p100f) & (scale < F{} + most_scale);
    if constexpr (In::kIs16Bit) {
      // Where amax / 127 is exact (127 divides amax's significand) there are more ties than one.
      // The proof is of 127 alone.
      const auto inexact = fma(scale, F{} + 127, -amax) != F{};
      divider.reciprocal = nudged_reciprocal<Ints>(amax, scale);
      if (rule.greatest == 127) divider.form = (inexact & in_range) ? Ints{} + kFast : divider.form;
    } else {
      divider.reciprocal = 1 / scale;
      divider.form = in_range ? Ints{} + kFast : divider.form;
    }
  }
  return divider;
}

// Calls use(encoder) with the fastest form that is exact for this group's scale.
template <class In, class Use>
NPU_QUANT_INLINE void with_encoder(const Divider<float, int32_t>& divider, Use use) {
  const F32 scale = broadcast(divider.scale);
  const F32 reciprocal = broadcast(divider.reciprocal);
  if constexpr (kHasFma) {
    if (__builtin_expect(divider.form == kFast, true)) {
      if constexpr (In::kIs16Bit)
        return use(MultiplyByNudged<In>{reciprocal});
      else
        return use(MultiplyAndCorrect<In>{reciprocal, scale});
    }
  }
  use(Divide<In>{scale});
}

}  // namespace
}  // namespace npu_quant
