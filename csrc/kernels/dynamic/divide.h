// How a value becomes a code: docs/numerics.md 2. `F` is float (one group) or F32 (a group per
// lane): same formula.
#pragma once

#include "core/rule.h"
#include "kernels/dynamic/quotient.h"
#include "simd/codes.h"

namespace npu_quant {
namespace {

// A value that is a middle between two codes whenever it is a 16-bit float: this fraction of amax.
// Its code is the greater one of the two where the quotient is at least `least_up`.
struct Tie {
  float fraction, middle, least_up;
};

// What the dynamic quantizers know of a code:
//   any(v)                 of any value
//   quotient(q, v)         of v / scale, which is no NaN and rounds to no more than the greatest; q
//                          may be a zero of the other sign
//   product(v, reciprocal) of 16-bit v, by one multiplication, where the ties are on the right side
//                          of reciprocal times kUnit; `corrects`: many amax have no such reciprocal
//   of_upper_halves(p)     of the upper halves of such products, where twice as many lanes do
template <class Code>
struct Coding;

// The low bits of a sum with kRoundMagic are the code.
template <class Code, int greatest, bool corrects>
struct IntegerCoding {
  static constexpr bool kHasProduct = true, kCorrects = corrects;
  static constexpr bool kTakesUpperHalves = false, kTiesGoUp = false;
  static constexpr int kBits = greatest == 7 ? 4 : 8;
  static constexpr int kNudges = 1;
  static constexpr bool kNudgesSuffice = true;
  static constexpr float kGreatest = greatest, kUnit = 1;
  static constexpr Tie kTies[] = {{0.5f, greatest / 2.0f, greatest / 2.0f}};

  static NPU_QUANT_INLINE I32 any(F32 v) { return Code::of(zero_for_nan(v)); }
  static NPU_QUANT_INLINE I32 quotient(F32 q, F32) { return bit_cast<I32>(q + kRoundMagic); }
  static NPU_QUANT_INLINE I32 product(F32 v, F32 reciprocal) {
    return bit_cast<I32>(fma(v, reciprocal, F32{} + kRoundMagic));
  }
  template <class F>
  static NPU_QUANT_INLINE auto goes_up(F tie, F reciprocal, float middle) {
    return fma(tie, reciprocal, F{} + kRoundMagic) >= F{} + (kRoundMagic + middle + 0.5f);
  }
};
template <>
struct Coding<Int8> : IntegerCoding<Int8, 127, false> {};
template <>
struct Coding<Int4> : IntegerCoding<Int4, 7, true> {};

// Times kUnit, values are float32 numbers whose patterns are codes with more bits behind them, the
// subnormal ones too: half of the last bit that stays is added, and the others are cut off.
template <int mantissa_bits, int bias, int greatest, bool has_infinity>
struct Coding<FloatCode<mantissa_bits, bias, greatest, has_infinity>> {
  using Code = FloatCode<mantissa_bits, bias, greatest, has_infinity>;
  static constexpr bool kHasProduct = true, kCorrects = true;
  static constexpr bool kTakesUpperHalves = true, kTiesGoUp = false;
  static constexpr int kBits = 8;
  static constexpr int kNudges = 2;
  static constexpr bool kNudgesSuffice = false;
  static constexpr float kGreatest = greatest, kUnit = power_of_2(bias - 127);
  // 3.5 steps of the subnormal ones, to even; with 3 bits of mantissa 336, too, between 320 and
  // 352.
  static constexpr float kSubnormal = power_of_2(1 - bias - mantissa_bits) * 3.5f;
  static constexpr Tie kTies[] = {
      {kSubnormal / greatest, kSubnormal, kSubnormal},
      mantissa_bits == 3 ? Tie{0.75f, 336, 0x1.500002p8f} : Tie{},
  };

  static NPU_QUANT_INLINE I32 any(F32 v) { return Code::of(v); }
  static NPU_QUANT_INLINE I32 quotient(F32 q, F32 v) {
    const I32 sign = bit_cast<I32>(v) & INT32_MIN;
    return Code::of_ordinary(bit_cast<F32>(bit_cast<I32>(q) | sign));
  }
  static NPU_QUANT_INLINE I16 of_upper_halves(I16 product) {
    constexpr int kDropped = 7 - mantissa_bits;
    constexpr int16_t kHalf = 1 << (kDropped - 1);
    const I16 bits = product + kHalf;
    const I16 code = bits >> kDropped;  // its low 7 bits
    return code ^ ((code ^ (bits >> 8)) & 0x80);
  }
  template <class F>
  static NPU_QUANT_INLINE auto goes_up(F tie, F reciprocal, float middle) {
    return tie * reciprocal >= F{} + middle * kUnit;
  }
};

template <>
struct Coding<HiFloat8> {
  static constexpr bool kHasProduct = true, kCorrects = true;
  static constexpr bool kTakesUpperHalves = kHasWordTables, kTiesGoUp = true;
  static constexpr int kBits = 8;
  static constexpr float kGreatest = 32768, kUnit = 1;

  static NPU_QUANT_INLINE I32 any(F32 v) { return HiFloat8::of(v); }
  static NPU_QUANT_INLINE I32 quotient(F32 q, F32) { return HiFloat8::of_ordinary(q); }
  static NPU_QUANT_INLINE I32 product(F32 v, F32 reciprocal) {
    return HiFloat8::of_ordinary(v * reciprocal);
  }
  template <class Words>
  static NPU_QUANT_INLINE Words of_upper_halves(Words product) {
    return HiFloat8::of_upper_halves(product);
  }
};

// Codes of a tile as an array holds them.
template <class Code>
NPU_QUANT_INLINE constexpr int64_t bytes_of(int64_t codes) {
  return codes * Coding<Code>::kBits / 8;
}
template <class In, class Code>
NPU_QUANT_INLINE auto packed(const I32 (&code)[4]) {
  if constexpr (Coding<Code>::kBits == 4)
    return packed_nibbles(In::pack(code));
  else
    return In::pack(code);
}

// Which form is exact for a scale: one of the fast ones, or the formula of its rule.
inline constexpr int32_t kDivide = 0, kCorrect = 1, kMultiply = 2, kProduct = 3, kFlush = 4;

// What is rounded to a code, by the formula: of a form that is none of the fast ones.
template <class F>
NPU_QUANT_INLINE F by_formula(int32_t form, F v, F scale) {
  if (form == kProduct) return v * (1 / scale);
  return form == kFlush ? flushed_quotient(v, scale) : v / scale;
}

// The same of a tile, whose products are with a multiplier. Flushed quotients are seldom needed
// here, and apart from the loops.
[[gnu::cold]] __attribute__((noinline)) Tile flushed_quotients(const Tile& v, const Tile& scale) {
  Tile q;
  for (int i = 0; i < 4; ++i) q.part[i] = flushed_quotient(v.part[i], scale.part[i]);
  return q;
}
NPU_QUANT_INLINE Tile by_formula(int32_t form, Tile v, const Tile& scale, const Tile& multiplier) {
  if (__builtin_expect(form == kFlush, false)) return flushed_quotients(v, scale);
  for (int i = 0; i < 4; ++i)
    v.part[i] = form == kProduct ? v.part[i] * multiplier.part[i] : v.part[i] / scale.part[i];
  return v;
}

// y = enc(v / scale), enc(v * multiplier) or enc(div(v, scale)): the formula itself, right for
// every scale. What values are divided by comes as tiles: of one group all lanes are alike.
template <class In, class CodeOf>
struct ByFormula {
  using Code = CodeOf;
  Tile scale, multiplier;
  int32_t form;

  NPU_QUANT_INLINE auto operator()(const Tile& v) const {
    const Tile q = by_formula(form, v, scale, multiplier);
    I32 code[4];
    for (int i = 0; i < 4; ++i) code[i] = Coding<Code>::any(q.part[i]);
    return packed<In, Code>(code);
  }
};

// The same by a reciprocal and one correction, where no quotient saturates.
template <class In, class CodeOf>
struct MultiplyAndCorrect {
  using Code = CodeOf;
  Tile reciprocal, scale;

  NPU_QUANT_INLINE auto operator()(const Tile& v) const {
    I32 code[4];
    for (int i = 0; i < 4; ++i) {
      const F32 q = corrected_quotient(v.part[i], scale.part[i], reciprocal.part[i]);
      code[i] = Coding<Code>::quotient(q, v.part[i]);
    }
    return packed<In, Code>(code);
  }
};

// The same for 16-bit v by one multiplication. Where the significand of amax is no multiple of that
// of the greatest code, a quotient of 16-bit values over the scale is one of a few ties or lies far
// enough from any: a reciprocal that rounds these right rounds all right. Proof:
// tests/cpp/test_exact_quotient.cpp, over every amax and every v.
template <class In, class CodeOf>
struct MultiplyByNudged {
  using Code = CodeOf;
  Tile reciprocal;

  NPU_QUANT_INLINE auto operator()(const Tile& v) const {
    if constexpr (Coding<Code>::kTakesUpperHalves) {
      return low_bytes(codes_of_parts(v, 0), codes_of_parts(v, 2));
    } else {
      I32 code[4];
      for (int i = 0; i < 4; ++i) code[i] = Coding<Code>::product(v.part[i], reciprocal.part[i]);
      return packed<In, Code>(code);
    }
  }

 private:
  NPU_QUANT_INLINE I16 codes_of_parts(const Tile& v, int i) const {
    return Coding<Code>::of_upper_halves(In::upper_halves_of(
        v.part[i] * reciprocal.part[i], v.part[i + 1] * reciprocal.part[i + 1]));
  }
};

template <class In, class Code>
inline constexpr bool kMultiplies = In::kIs16Bit && Coding<Code>::kHasProduct;
template <class In, class Code>
inline constexpr bool kCorrects = !kMultiplies<In, Code> || Coding<Code>::kCorrects;

// Everything needed to round v / scale, of one group (F is float) or of a group per lane (F is
// F32).
template <class F, class Forms>
struct Divider {
  F scale;
  F multiplier;  // what the form multiplies by
  Forms form;
};

// The scale of a group by another form than the quotient. Apart, so that loops have the one alone.
template <class F>
[[gnu::cold]] __attribute__((noinline)) F scale_by_form(const Rule& rule, F amax) {
  const F all = F{} + rule.greatest;
  F scale{};
  switch (rule.scale) {
    case ScaleForm::product: scale = amax * (1 / rule.greatest); break;
    case ScaleForm::inverse: scale = 1 / (all / amax); break;
    case ScaleForm::multiplier: scale = all / amax; break;
    case ScaleForm::flushed_quotient: {
      // An infinite one stays.
      scale = flushed_quotient(amax, all);
      const F bounded = F{} + rule.most_scale;
      return ((scale > rule.most_scale) & (scale < __builtin_inff())) ? bounded : scale;
    }
    case ScaleForm::quotient:
    default: __builtin_trap();
  }
  return scale > rule.most_scale ? F{} + rule.most_scale : scale;
}

// The scale of a group.
template <class F>
NPU_QUANT_INLINE F scale_of(const Rule& rule, F amax) {
  if (__builtin_expect(rule.scale != ScaleForm::quotient, false)) return scale_by_form(rule, amax);
  const F unbounded = amax / rule.greatest;
  return unbounded > rule.most_scale ? F{} + rule.most_scale : unbounded;  // keeps NaN
}

// What values are multiplied by, where the rule says so.
template <class F>
NPU_QUANT_INLINE F multiplier_of(const Rule& rule, F amax) {
  const F all = F{} + rule.greatest;
  const F multiplier = rule.code == CodeForm::product ? all / amax : 1 / amax * all;
  return multiplier < rule.least_multiplier ? F{} + rule.least_multiplier : multiplier;
}

// The form of a rule's formula.
NPU_QUANT_INLINE int32_t formula_of(const Rule& rule) {
  switch (rule.code) {
    case CodeForm::quotient: return kDivide;
    case CodeForm::product:
    case CodeForm::product_of_inverse: return kProduct;
    case CodeForm::flushed_quotient: return kFlush;
  }
  __builtin_trap();
}

// A reciprocal next to greatest / amax that rounds the ties among 16-bit values as the formula
// does, or 0 where none is found. Where amax / greatest is exact there are more ties.
template <class Code, class Bits, class F>
NPU_QUANT_INLINE F nudged_reciprocal(int32_t formula, F amax, F scale, F multiplier) {
  using Ties = Coding<Code>;
  F reciprocal = Ties::kGreatest / amax * Ties::kUnit;
  // Where all of them go up, as they do by a division, a reciprocal that is a little too great is
  // right.
  if constexpr (Ties::kTiesGoUp) {
    return formula == kProduct ? F{} : bit_cast<F>(bit_cast<Bits>(reciprocal) + 1);
  } else {
    const F exact = formula == kDivide ? scale : amax / Ties::kGreatest;
    const Bits is_exact = mask_of(fma(exact, F{} + Ties::kGreatest, -amax) == F{});
    Bits low, high;
    const auto compare = [&] {
      low = high = Bits{};
      for (const Tie& of : Ties::kTies) {
        const F tie = amax * of.fraction;
        const Bits goes_up = mask_of(Ties::goes_up(tie, reciprocal, of.middle));
        const F quotient = formula == kProduct ? tie * multiplier : tie / scale;  // none is flushed
        const Bits is_to_go_up = mask_of(quotient >= F{} + of.least_up);
        // 16-bit floats have 11 bits at most: amax has, and so have its halves.
        Bits is_value = Bits{} - 1;
        if (of.fraction == 0.75f) is_value = mask_of((bit_cast<Bits>(tie) & 0x1fff) == 0);
        low |= is_to_go_up & ~goes_up & is_value;
        high |= goes_up & ~is_to_go_up & is_value;
      }
    };
    for (int nudge = 0; nudge < Ties::kNudges; ++nudge) {
      compare();
      reciprocal = bit_cast<F>(bit_cast<Bits>(reciprocal) - low + high);
    }
    Bits fails = is_exact;
    if (!Ties::kNudgesSuffice) {
      compare();
      fails |= low | high;
    }
    return fails == 0 ? reciprocal : F{};
  }
}

// Within these bounds neither a reciprocal nor the remainder of a quotient that matters can
// underflow, and a value that is to be flushed has a code of 0 in any case. A bounded scale
// saturates, which only the formula does.
template <class F>
NPU_QUANT_INLINE auto has_reciprocal(const Rule& rule, F scale) {
  return (scale >= F{} + 0x1p-100f) & (scale <= F{} + 0x1p100f) & (scale < F{} + rule.most_scale);
}

// The scale of a group, and how its values become what is rounded. Ints is int32_t for float, I32
// for F32.
template <class In, class Code, class Ints, class F>
NPU_QUANT_INLINE Divider<F, Ints> divider_of(const Rule& rule, F amax) {
  const F scale = scale_of(rule, amax);
  const int32_t formula = formula_of(rule);
  Divider<F, Ints> divider{scale, scale, Ints{} + formula};
  if (formula == kProduct) divider.multiplier = multiplier_of(rule, amax);
  if constexpr (kHasFma) {
    const auto in_range = has_reciprocal(rule, scale);
    const F by_rule = divider.multiplier;
    if constexpr (kCorrects<In, Code>)
      if (formula != kProduct) {
        divider.multiplier = 1 / scale;
        divider.form = in_range ? Ints{} + kCorrect : divider.form;
      }
    if constexpr (kMultiplies<In, Code>) {
      // The proof is of the format's own greatest code.
      const F nudged = nudged_reciprocal<Code, Ints>(formula, amax, scale, by_rule);
      const auto is_product = in_range & (nudged >= F{} + 0x1p-125f);
      if (rule.greatest == Coding<Code>::kGreatest) {
        divider.multiplier = is_product ? nudged : divider.multiplier;
        divider.form = is_product ? Ints{} + kMultiply : divider.form;
      }
    }
  }
  return divider;
}

// Calls use(encoder) with the fast form that is exact, if there is one: for the scale of a group,
// or for all of a tile's. Returns whether there was. Values that are not multiplied have the
// formula among their forms.
template <class In, class Code, bool corrects = kCorrects<In, Code>, class Use>
NPU_QUANT_INLINE bool with_fast_encoder(const Tile& scale, const Tile& multiplier, int32_t form,
                                        Use use) {
  if constexpr (kHasFma) {
    if constexpr (kMultiplies<In, Code>)
      if (__builtin_expect(form == kMultiply, true))
        return use(MultiplyByNudged<In, Code>{multiplier}), true;
    if constexpr (corrects)
      if (form == kCorrect) return use(MultiplyAndCorrect<In, Code>{multiplier, scale}), true;
    if constexpr (kMultiplies<In, Code>) return false;
  }
  return use(ByFormula<In, Code>{scale, multiplier, form}), true;
}
// The same with the formula, where no other form is exact.
template <class In, class Code, bool corrects = kCorrects<In, Code>, class Use>
NPU_QUANT_INLINE void with_encoder(const Tile& scale, const Tile& multiplier, int32_t form,
                                   Use use) {
  if (!with_fast_encoder<In, Code, corrects>(scale, multiplier, form, use))
    use(ByFormula<In, Code>{scale, multiplier, form});
}
NPU_QUANT_INLINE Tile tile_of(F32 all) { return {{all, all, all, all}}; }
template <class In, class Code, class Use>
NPU_QUANT_INLINE bool with_fast_encoder(const Divider<float, int32_t>& divider, Use use) {
  return with_fast_encoder<In, Code>(tile_of(broadcast(divider.scale)),
                                     tile_of(broadcast(divider.multiplier)), divider.form, use);
}
template <class In, class Code, class Use>
NPU_QUANT_INLINE void with_encoder(const Divider<float, int32_t>& divider, Use use) {
  with_encoder<In, Code>(tile_of(broadcast(divider.scale)), tile_of(broadcast(divider.multiplier)),
                         divider.form, use);
}

}  // namespace
}  // namespace npu_quant
