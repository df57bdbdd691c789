// How a value becomes a code: docs/numerics.md 2. `F` is float (one row) or F32 (a block per lane):
// same formula.
#pragma once

#include "kernels/quotient.h"
#include "kernels/values.h"

namespace npu_quant {
namespace {

// y = sat8(fl(v / scale)): NaN -> 0, out of range -> 127 / -128. The formula itself; right for
// every scale.
template <class In>
struct Divide {
  F32 scale;

  NPU_QUANT_INLINE I8 operator()(const Tile& v) const {
    I32 code[4];
    for (int i = 0; i < 4; ++i) {
      F32 q = v.part[i] / scale;
      q = q == q ? q : F32{};
      q = min(max(q, F32{} - 128), F32{} + 127);
      code[i] = bit_cast<I32>(q + kRoundMagic);
    }
    return In::narrow(code);
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
    return In::narrow(code);
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
    return In::narrow(code);
  }
};

// Which of the three forms is exact for a scale, fastest last.
inline constexpr int32_t kDivide = 0, kCorrect = 1, kNudge = 2;

// Everything needed to round v / scale, for one row (F is float) or for a block per lane (F is
// F32).
template <class F, class Forms>
struct Quotient {
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

// Calls use(encoder) with the fastest form that is exact for this row's or block's scale.
template <class Values, class Use>
NPU_QUANT_INLINE void with_encoder(const Quotient<float, int32_t>& quotient, Use use) {
  using In = typename Values::In;
  const F32 scale = broadcast(quotient.scale);
  const F32 reciprocal = broadcast(quotient.reciprocal);
  if constexpr (kHasFma) {
    if constexpr (Values::kIs16Bit)
      if (__builtin_expect(quotient.form == kNudge, true))
        return use(MultiplyByNudged<In>{reciprocal});
    if (quotient.form == kCorrect) return use(MultiplyAndCorrect<In>{reciprocal, scale});
  }
  use(Divide<In>{scale});
}

// numerics="reference". Another profile is another struct with these two members.
struct Reference {
  template <class F>
  static NPU_QUANT_INLINE F scale(F amax) {
    return amax / 127;
  }

  // For y = sat8(fl(v / scale)). Ints is int32_t for float, I32 for F32.
  template <class Values, class Ints, class F>
  static NPU_QUANT_INLINE Quotient<F, Ints> quotient(F amax, F scale) {
    Quotient<F, Ints> q{scale, scale, Ints{} + kDivide};
    if constexpr (kHasFma) {
      // Within these bounds neither a reciprocal nor the remainder of a quotient that matters can
      // underflow.
      const auto in_range = (scale >= F{} + 0x1p-100f) & (scale <= F{} + 0x1p100f);
      q.reciprocal = 1 / scale;
      q.form = in_range ? Ints{} + kCorrect : Ints{} + kDivide;
      if constexpr (Values::kIs16Bit) {
        // Where amax / 127 is exact (127 divides amax's significand) there are more ties than one.
        const auto inexact = fma(scale, F{} + 127, -amax) != F{};
        q.reciprocal = inexact ? nudged_reciprocal<Ints>(amax, scale) : q.reciprocal;
        q.form += (inexact & in_range) ? Ints{} + (kNudge - kCorrect) : Ints{};
      }
    }
    return q;
  }
};

}  // namespace
}  // namespace npu_quant
