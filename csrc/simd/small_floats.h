// The codes of floats of 8 and of 4 bits: one struct each. of() gives the code of a value in a
// lane's low byte.
#pragma once

#include "core/rounding.h"
#include "simd/values.h"

namespace npu_quant {
namespace {

// The values of a tile of codes, by what value() makes of lanes from 0 to 255.
template <class Value>
NPU_QUANT_INLINE void lanes_of(I8 codes, Tile& v, Value value) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&codes);
  for (int p = 0; p < 4; ++p) v.part[p] = value(widen_bytes(bytes + p * kLanes));
}

NPU_QUANT_INLINE I32 sign_in_low_byte(F32 v) { return (bit_cast<I32>(v) >> 24) & 0x80; }

constexpr float power_of_2(int exponent) {
  float power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  for (; exponent < 0; ++exponent) power /= 2;
  return power;
}
constexpr int32_t bits_of(float v) { return __builtin_bit_cast(int32_t, v); }

// The codes of floats of 8 bits: of() of any value, saturated, of NaN 0; of_ordinary() of what is
// no NaN and rounds to no more than the greatest; of_magnitude() of |v|, where that is less than 4
// times the greatest: beyond it codes go on, in all 8 bits. units() are the values of a tile of
// codes divided by kUnit.
//
// IEEE's layout: a sign, an exponent, and so many bits of mantissa; rounded to nearest even.
//
//   2^e   the power of 2 at or below |v|, at least the least normal one
//   C     2^e << dropped bits: |v| + C is |v| rounded to a multiple of 2^(e - mantissa_bits), so
//         the sum's last bits count |v| in these steps, the hidden 1 included
//   code  e's own field, biased anew, above the mantissa: the count adds the hidden 1 to it. The
//         new bias is in the last bits of C: an even number, which leaves ties alone.
template <int mantissa_bits, int bias>
NPU_QUANT_INLINE I32 code_of_magnitude(I32 bits) {
  constexpr int kDropped = 23 - mantissa_bits;
  constexpr int32_t kLeastNormal = bits_of(power_of_2(1 - bias));
  constexpr int32_t kNewBias = -((128 - bias) << mantissa_bits) & 0xff;
  static_assert(kNewBias % 2 == 0);
  // Unsigned, as sums of infinity and NaN go beyond 31 bits.
  const auto exponent = bit_cast<U32>(max(bits & kInfinityBits, I32{} + kLeastNormal));
  const F32 addend = bit_cast<F32>(exponent + ((kDropped << 23) + kNewBias));
  return bit_cast<I32>(bit_cast<U32>(bit_cast<F32>(bits) + addend) + (exponent >> kDropped));
}

// The numbers of a tile whose patterns in binary16 pattern_of() makes of codes, in words.
template <class PatternOf>
NPU_QUANT_INLINE void float16_tile(I8 codes, Tile& v, PatternOf pattern_of) {
  I16 words[2];
  widen_bytes(codes, words);
  for (int half = 0; half < 2; ++half) {
    F32 parts[2];
    widen_float16(pattern_of(words[half]), parts);
    for (int i = 0; i < 2; ++i) v.part[2 * half + i] = parts[i];
  }
}

template <int mantissa_bits, int bias, int greatest, bool has_infinity>
struct FloatCode {
  using Storage = uint8_t;

  static constexpr uint8_t kGreatestCode =
      has_infinity ? (0x7f >> mantissa_bits << mantissa_bits) - 1 : 0x7e;

  static NPU_QUANT_INLINE I32 of(F32 v) {
    const F32 magnitude = bit_cast<F32>(magnitude_bits(v));
    const I32 code = of_magnitude(min(magnitude, broadcast(greatest)));
    return v == v ? code | sign_in_low_byte(v) : I32{};
  }
  static NPU_QUANT_INLINE I32 of_ordinary(F32 v) { return of_magnitude(v) | sign_in_low_byte(v); }
  static NPU_QUANT_INLINE I32 of_magnitude(F32 v) {
    return code_of_magnitude<mantissa_bits, bias>(magnitude_bits(v));
  }

  static constexpr float kUnit = power_of_2(15 - bias);
  static NPU_QUANT_INLINE void units(I8 codes, Tile& v) {
    float16_tile(codes, v, [](I16 code) {
      // With bits 0 to 6 so far up they are binary16, but for the bias and the NaN of no infinity.
      constexpr int kUp = 10 - mantissa_bits;
      constexpr int16_t kKept = -0x8000 | 0x7f << kUp, kLast = 1 << kUp;
      const I16 bits = (code << kUp) & kKept;
      return has_infinity ? bits : bits | ((bits + kLast) & 0x4000);
    });
  }
};
using Float8E4M3FN = FloatCode<3, 7, 448, false>;
using Float8E5M2 = FloatCode<2, 15, 57344, true>;

// The same of e2m1 and e1m2, floats of 4 bits, by their bits of mantissa; of() rounds as it is
// told.
template <int mantissa_bits>
struct Float4 {
  using Storage = uint8_t;
  static constexpr float kGreatest = mantissa_bits == 1 ? 6.0f : 1.75f;
  static constexpr uint8_t kGreatestCode = 7;
  Rounding rounding = Rounding::to_even;

  NPU_QUANT_INLINE I32 of(F32 v) const {
    const F32 greatest = broadcast(kGreatest);
    const I32 code = of_magnitude(min(max(v, -greatest), greatest)) & 7;
    return v == v ? code | ((bit_cast<I32>(v) >> 28) & 8) : I32{};
  }
  static constexpr float kUnit = power_of_2(14);
  static NPU_QUANT_INLINE void units(I8 codes, Tile& v) {
    float16_tile(codes, v, [](I16 code) {
      constexpr int kUp = 10 - mantissa_bits;
      constexpr int16_t kMagnitude = 7 << kUp;
      return (code << 12 & -0x8000) | (code << kUp & kMagnitude);
    });
  }

  // Ties go away from zero where a 1 is added that lifts patterns which end in 0.
  NPU_QUANT_INLINE I32 of_magnitude(F32 v) const {
    const int32_t tie = rounding == Rounding::away_from_zero;
    const I32 code = code_of_magnitude<mantissa_bits, 1>(magnitude_bits(v) | tie);
    if (rounding == Rounding::to_even || rounding == Rounding::away_from_zero) return code;
    return directed(v, code & 0xff);
  }

 private:
  // The same, or its neighbour in the direction of rounding where it lies on v's other side.
  NPU_QUANT_INLINE I32 directed(F32 v, I32 code) const {
    const F32 value = bit_cast<F32>(code << (23 - mantissa_bits)) * 0x1p126f;
    const F32 magnitude = bit_cast<F32>(magnitude_bits(v));
    const I32 is_negative = bit_cast<I32>(v) >> 31;
    I32 is_up{};  // away from zero
    if (rounding == Rounding::floor) is_up = is_negative;
    if (rounding == Rounding::ceil) is_up = ~is_negative;
    return code - (is_up & (value < magnitude)) + (~is_up & (value > magnitude));
  }
};
using Float4E2M1 = Float4<1>;
using Float4E1M2 = Float4<2>;

// Powers of 2 from 2^-127 on, and NaN, 255, without a sign or a zero: to the nearest, ties up; what
// is too small or too great becomes the end, what is negative NaN.
struct Float8E8M0FNU {
  using Storage = uint8_t;
  static NPU_QUANT_INLINE I32 of(F32 v) {
    constexpr int32_t kLeastMiddle = bits_of(0x1.8p-127f), kGreatest = bits_of(0x1p127f);
    const I32 bits = min(magnitude_bits(v), I32{} + kGreatest);
    const I32 power = bits >= kLeastMiddle ? (bits + (1 << 22)) >> 23 : I32{};
    return v >= 0 ? power : I32{} + 255;
  }
  static NPU_QUANT_INLINE F32 value(I32 code) {
    const I32 bits = max(code << 23, I32{} + (1 << 22));  // 2^-127 is subnormal
    return bit_cast<F32>(code == 255 ? I32{} + kQuietNaNBits : bits);
  }
  static constexpr float kUnit = 1;
  static NPU_QUANT_INLINE void units(I8 codes, Tile& v) { lanes_of(codes, v, value); }
};

// Of HiFloat8, below. What binades of so many bits of mantissa go by, in one number: what is added
// to a pattern's upper bits, and how far the pattern is to be shifted, less one.
struct HiFloat8Binades {
  static constexpr int32_t number(int mantissa_bits, int added) {
    return added * 32 + 22 - mantissa_bits;
  }
  constexpr HiFloat8Binades() : of_exponent(), of_exponent_in_words(), of_rank() {
    constexpr struct {
      int exponent, mantissa_bits, added;  // from 2^exponent on
    } kFirst[] = {{-16, 0, -104}, {-15, 1, -216}, {-7, 2, -456},
                  {-3, 3, -952},  {4, 2, -428},   {8, 1, -158}};
    for (const auto& first : kFirst) {
      const int32_t all = number(first.mantissa_bits, first.added);
      for (int e = first.exponent; e < 16; ++e) {
        of_exponent[(e + 127) % 32] = all;
        of_exponent_in_words[(e + 127) % 32] = static_cast<int16_t>(all - 16);
      }
      const int rank = ((first.exponent + 127) << first.mantissa_bits) + first.added;
      for (int i = first.exponent > -16 ? rank / 8 : 0; i < 32; ++i) of_rank[i] = all;
    }
  }
  alignas(64) int32_t of_exponent[32];           // of the biased one's low bits; from -16 to 15
  alignas(64) int16_t of_exponent_in_words[32];  // of patterns without their lower 16 bits
  alignas(64) int32_t of_rank[32];               // divided by 8
};
inline constexpr HiFloat8Binades kBinades{};

// HiF8: the further from 1, the fewer bits of mantissa; ties go away from zero, and there is no -0.
//
//   rank   0 for 0, 1 for the least code's value 2^-22, ... 126 for the greatest's, 32768: as the
//          values ascend. In a binade with m bits of mantissa it is the float32 pattern's upper
//          bits, (exponent, m bits), plus a number that joins the binades of m bits to the others.
//          A pattern rounded up into the next binade is right, too: ranks go on without a gap.
//   code   8 ranks in a row differ from their codes by the same bits
struct HiFloat8 {
  using Storage = uint8_t;

  static NPU_QUANT_INLINE I32 of(F32 v) {
    return of_magnitude(v, min(magnitude_bits(v), I32{} + bits_of(32768)));
  }
  static NPU_QUANT_INLINE I32 of_ordinary(F32 v) { return of_magnitude(v, magnitude_bits(v)); }
  // The same of the upper halves of patterns: nothing is rounded by a bit below them.
  template <class Words>
  static NPU_QUANT_INLINE Words of_upper_halves(Words upper) {
    constexpr int16_t kLeast = bits_of(0x1p-23f) >> 16;
    const Words bits = upper & 0x7fff;
    const Words code = of_bits<16>(bits, kBinades.of_exponent_in_words);
    return bits >= kLeast ? code | ((upper >> 8) & 0x80) : Words{};
  }

  static constexpr float kUnit = 1;
  static NPU_QUANT_INLINE void units(I8 codes, Tile& v) { lanes_of(codes, v, value); }

 private:
  static NPU_QUANT_INLINE F32 value(I32 code) {
    const I32 field = code & 0x7f;
    const I32 rank = field ^ table_at(kDiffersOfCode, field >> 3);
    const I32 binades = table_at(kBinades.of_rank, rank >> 3);
    I32 bits = (rank - (binades >> 5)) << ((binades & 31) + 1);
    bits = rank == 0 ? I32{} : bits;
    bits = rank == 127 ? I32{} + kInfinityBits : bits;
    bits = code == 0x80 ? I32{} + kQuietNaNBits : bits | ((code & 0x80) << 24);
    return bit_cast<F32>(bits);
  }

  // The bits in which ranks 8 i to 8 i + 7 differ from their codes; the same for codes.
  alignas(16) static constexpr uint8_t kDiffersOfRank[16] = {0x00, 0x76, 0x66, 0x44, 0x74, 0x10,
                                                             0x00, 0x20, 0x48, 0x58, 0x70, 0x70,
                                                             0x20, 0x20, 0x10, 0x10};
  alignas(16) static constexpr uint8_t kDiffersOfCode[16] = {0x00, 0x48, 0x58, 0x20, 0x70, 0x70,
                                                             0x00, 0x10, 0x20, 0x20, 0x74, 0x44,
                                                             0x10, 0x10, 0x66, 0x76};

  static NPU_QUANT_INLINE I32 of_magnitude(F32 v, I32 bits) {
    const I32 code = of_bits<0>(bits, kBinades.of_exponent);
    // Of NaN the comparison is false.
    const F32 magnitude = bit_cast<F32>(magnitude_bits(v));
    return magnitude >= broadcast(0x1p-23f) ? code | sign_in_low_byte(v) : I32{};
  }

  // Of patterns without so many of their lower bits.
  template <int cut, class Ints, class Int>
  static NPU_QUANT_INLINE Ints of_bits(Ints bits, const Int (&of_exponent)[32]) {
    constexpr Int kLeastExponent = bits_of(0x1p-16f) >> cut, kLeast = bits_of(0x1p-22f) >> cut;
    // Below 2^-16 all is as there.
    const Ints exponent = max(bits, Ints{} + kLeastExponent) >> (23 - cut);
    const Ints binades = table_at(of_exponent, exponent);
    // From 2^-23 on, the middle below it, all is at least the least value.
    const Ints upper = max(bits, Ints{} + kLeast) >> (binades & 31);
    const Ints rank = ((upper + 1) >> 1) + (binades >> 5);
    return rank ^ table_at(kDiffersOfRank, rank >> 3);
  }
};

}  // namespace
}  // namespace npu_quant
