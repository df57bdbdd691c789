// The codes that values become: one struct each. of() gives the code of a value in a lane's low
// byte; the integers' structs also read and write arrays of them.
#pragma once

#include "simd/small_floats.h"

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
  static NPU_QUANT_INLINE Tile values(const Storage* q) {
    I32 code[4];
    load(q, code);
    Tile v;
    for (int i = 0; i < 4; ++i) v.part[i] = __builtin_convertvector(code[i], F32);
    return v;
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
  // floor(v / 2^16), saturated, or nothing: it returns false where one is undecided. Mixed: v comes
  // as even and odd elements.
  template <bool mixed = false>
  static NPU_QUANT_INLINE bool put_floors(Storage* y, const Tile& v, Stores stores) {
    I8 codes;
    return put_if(saturated_floors<(least < 0), mixed>(v.part, codes), y, codes, stores);
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

// A code of 4 bits in the low nibble of a byte; NaN becomes 0.
struct Int4 {
  using Storage = int8_t;

  static NPU_QUANT_INLINE I32 of(F32 v) { return ByteCode<int8_t, -8, 7>::of(zero_for_nan(v)); }
  static constexpr float kUnit = 1;
  static NPU_QUANT_INLINE void units(I8 codes, Tile& v) {
    lanes_of(codes, v,
             [](I32 code) { return __builtin_convertvector(((code & 15) ^ 8) - 8, F32); });
  }
};

// Codes of bytes as arrays hold int4, half a vector of them, and back: the first of two is the low
// nibble.
using Nibbles = Vec<int8_t, kVectorBytes / 2>;
NPU_QUANT_INLINE Nibbles packed_nibbles(I8 codes) {
  const I16 pairs = bit_cast<I16>(codes);
  return __builtin_convertvector((pairs & 0x0f) | ((pairs >> 4) & 0xf0), Nibbles);
}
NPU_QUANT_INLINE I8 unsigned_nibbles(Nibbles nibbles) {
  const I16 pairs = widen_bytes(nibbles);
  return bit_cast<I8>((pairs & 0x0f) | ((pairs << 4) & 0x0f00));
}
NPU_QUANT_INLINE I8 unpacked_nibbles(Nibbles nibbles) {
  return (unsigned_nibbles(nibbles) ^ 8) - 8;
}

template <class Code>
NPU_QUANT_INLINE void find_values(I8 codes, Tile& v) {
  Code::units(codes, v);
  if constexpr (Code::kUnit != 1)
    for (int p = 0; p < 4; ++p) v.part[p] *= Code::kUnit;
}

// Writes codes of which those of NaN are 0.
template <class Code>
NPU_QUANT_INLINE void put_with_zero_for_nan(typename Code::Storage* y, const Tile& v,
                                            Stores stores) {
  if (Code::put_ordinary(y, v, stores)) return;
  Tile numbers;
  for (int i = 0; i < 4; ++i) numbers.part[i] = zero_for_nan(v.part[i]);
  Code::put(y, numbers, stores);
}

// Calls f with the struct of a format of integers that arrays hold as they are, or of one of the
// others, the small ones, of which some round as they are told: the op has checked it.
NPU_QUANT_INLINE bool is_plain_integer(Format format) {
  return format == Format::int8 || format == Format::uint8 || format == Format::int32;
}
template <class F>
NPU_QUANT_INLINE void visit_plain_integer(Format format, F f) {
  if (format == Format::int8) return f(Int8{});
  if (format == Format::uint8) return f(Uint8{});
  f(Int32{});
}
template <class F>
NPU_QUANT_INLINE void visit_small(Format format, Rounding rounding, F f) {
  if (format == Format::int4) return f(Int4{});
  if (format == Format::hifloat8) return f(HiFloat8{});
  if (format == Format::float8_e5m2) return f(Float8E5M2{});
  if (format == Format::float8_e8m0fnu) return f(Float8E8M0FNU{});
  if (format == Format::float4_e2m1) return f(Float4E2M1{rounding});
  if (format == Format::float4_e1m2) return f(Float4E1M2{rounding});
  f(Float8E4M3FN{});
}

// A code of one of the small formats in each byte. Not inlined: which one is known at run time, and
// every loop would hold all.
struct SmallCode {
  using Storage = uint8_t;

  static __attribute__((noinline)) void put(Format format, Storage* y, const Tile& v, Stores stores,
                                            Rounding rounding = Rounding::to_even) {
    visit_small(format, rounding, [&](auto small) {
      I32 code[4];
      for (int i = 0; i < 4; ++i) code[i] = small.of(v.part[i]);
      stores.put(y, low_bytes(code));
    });
  }
  static __attribute__((noinline)) void load(Format format, const Storage* x, Tile& v) {
    visit_small(format, Rounding::to_even,
                [&](auto small) { find_values<decltype(small)>(npu_quant::load<I8>(x), v); });
  }
};

}  // namespace
}  // namespace npu_quant
