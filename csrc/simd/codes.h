// The codes that values become: one struct each. of() gives the code of a value in a lane's low
// byte; the integers' structs also read and write arrays of them.
#pragma once

#include "simd/values.h"

namespace npu_quant {
namespace {

// Adding and subtracting 1.5 * 2^23 rounds |v| < 2^22 to an integer, ties to even; the sum's low
// byte is that integer modulo 256.
inline constexpr float kRoundMagic = 0x1.8p23f;

NPU_QUANT_INLINE F32 zero_for_nan(F32 v) { return v == v ? v : F32{}; }

// Integers of a byte: put() rounds values to nearest even and saturates them; NaN becomes the least
// code. put_ordinary() does the same, faster, or nothing: it returns false where a value is NaN or
// far out of range.
template <class T, int least, int greatest>
struct ByteCode {
  using Storage = T;
  static constexpr float kLeast = least, kGreatest = greatest;

  static NPU_QUANT_INLINE I32 of(F32 v) {
    return bit_cast<I32>(min(max(v, broadcast(least)), broadcast(greatest)) + kRoundMagic);
  }
  static NPU_QUANT_INLINE void load(const Storage* q, I32 (&code)[4]) {
    for (int i = 0; i < 4; ++i) code[i] = widen_bytes(q + i * kLanes);
  }
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v, Stores stores) {
    I32 code[4];
    for (int i = 0; i < 4; ++i) code[i] = of(v.part[i]);
    stores.put(y, low_bytes(code));
  }
  static NPU_QUANT_INLINE bool put_ordinary(Storage* y, const Tile& v, Stores stores) {
    I8 codes;
    return put_if(saturated_bytes<(least < 0)>(v.part, codes), y, codes, stores);
  }
  // floor(v / 2^16), saturated, or nothing: it returns false where one is undecided.
  static NPU_QUANT_INLINE bool put_floors(Storage* y, const Tile& v, Stores stores) {
    I8 codes;
    return put_if(saturated_floors<(least < 0)>(v.part, codes), y, codes, stores);
  }

 private:
  static NPU_QUANT_INLINE bool put_if(bool known, Storage* y, const I8& codes, Stores stores) {
    if (__builtin_expect(known, true)) stores.put(y, codes);
    return known;
  }
};
using Int8 = ByteCode<int8_t, -128, 127>;
using Uint8 = ByteCode<uint8_t, 0, 255>;

struct Int32 {
  using Storage = Unaligned<int32_t>;

  static NPU_QUANT_INLINE void load(const Storage* q, I32 (&code)[4]) {
    for (int i = 0; i < 4; ++i) code[i] = npu_quant::load<I32>(q + i * kLanes);
  }
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v, Stores stores) {
    for (int i = 0; i < 4; ++i) {
      const I32 code = round_to_int32(v.part[i]);
      stores.put(y + i * kLanes, v.part[i] >= 0x1p31f ? I32{} + INT32_MAX : code);
    }
  }
  static NPU_QUANT_INLINE bool put_ordinary(Storage* y, const Tile& v, Stores stores) {
    if (__builtin_expect(any_nan(v.part), false)) return false;
    put(y, v, stores);
    return true;
  }
};

// Small floats without infinities, such as float8_e4m3fn: rounded to nearest even, saturated; NaN
// becomes 0. `greatest` is the greatest value.
//
//   |v| >= 2^(1 - bias)   the float32 pattern is rounded to the mantissa's bits, and its exponent
//                         is biased anew
//   below (subnormal)     2^23 least steps are added: what is left of |v|'s fraction counts steps
template <int mantissa_bits, int bias, int greatest>
struct FloatCode {
  static NPU_QUANT_INLINE I32 of(F32 v) {
    constexpr int kDropped = 23 - mantissa_bits;
    constexpr float kLeastNormal = power_of_2(1 - bias);
    constexpr float kSteps = power_of_2(1 - bias - mantissa_bits + 23);
    const I32 sign = bit_cast<I32>(v) & static_cast<int32_t>(0x80000000);
    const F32 magnitude = min(bit_cast<F32>(bit_cast<I32>(v) ^ sign), broadcast(greatest));
    const I32 bits = bit_cast<I32>(magnitude);
    const I32 half = ((1 << (kDropped - 1)) - 1) + ((bits >> kDropped) & 1);
    const I32 normal = (bits + half - ((127 - bias) << 23)) >> kDropped;
    const I32 subnormal = bit_cast<I32>(magnitude + kSteps) - bit_cast<I32>(broadcast(kSteps));
    const I32 code = magnitude < broadcast(kLeastNormal) ? subnormal : normal;
    // 0x80000000 >> 24 keeps the sign in the low byte's first bit; the bits above are not read.
    return v == v ? code | (sign >> 24) : I32{};
  }

 private:
  static constexpr float power_of_2(int exponent) {
    float power = 1;
    for (; exponent > 0; --exponent) power *= 2;
    for (; exponent < 0; ++exponent) power /= 2;
    return power;
  }
};
using Float8E4M3FN = FloatCode<3, 7, 448>;

// Writes codes of which those of NaN are 0.
template <class Code>
NPU_QUANT_INLINE void put_with_zero_for_nan(typename Code::Storage* y, const Tile& v,
                                            Stores stores) {
  if (Code::put_ordinary(y, v, stores)) return;
  Tile numbers;
  for (int i = 0; i < 4; ++i) numbers.part[i] = zero_for_nan(v.part[i]);
  Code::put(y, numbers, stores);
}

// Calls f with the struct of a dtype of codes, which the op has checked.
template <class F>
NPU_QUANT_INLINE void visit_code(DType dtype, F f) {
  if (dtype == DType::int8) return f(Int8{});
  if (dtype == DType::uint8) return f(Uint8{});
  f(Int32{});
}

}  // namespace
}  // namespace npu_quant
