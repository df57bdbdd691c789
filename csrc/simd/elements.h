// The element types of elementwise operators: one struct each, to read a tile of values in memory
// order, to write one, or both. (convert.h has those of the dynamic quantizers.)
#pragma once

#include "simd/convert.h"

namespace npu_quant {
namespace {

template <class Loads>
struct Float32Elements {
  using Storage = Unaligned<float>;
  static constexpr bool kIsInteger = false;

  static NPU_QUANT_INLINE Tile load(const Storage* x) { return Float32<Loads>::load(x); }
  template <class Store>
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v) {
    for (int i = 0; i < 4; ++i) Store::put(y + i * kLanes, v.part[i]);
  }
};

struct Float16Elements {
  using Storage = Unaligned<uint16_t>;
  static constexpr bool kIsInteger = false;

  static NPU_QUANT_INLINE Tile load(const Storage* x) { return Float16<WholeLoads>::load(x); }
  template <class Store>
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v) {
    for (int i = 0; i < 4; i += 2)
      Store::put(y + i * kLanes, narrow_float16(v.part[i], v.part[i + 1]));
  }
};

struct BFloat16Elements {
  using Storage = Unaligned<uint16_t>;
  static constexpr bool kIsInteger = false;

  static NPU_QUANT_INLINE Tile load(const Storage* x) {
    Tile v;
    for (int i = 0; i < 4; ++i) v.part[i] = bit_cast<F32>(load_upper_halves(x + i * kLanes));
    return v;
  }
  template <class Store>
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v) {
    I32 bits[4];
    for (int i = 0; i < 4; ++i) bits[i] = rounded(bit_cast<I32>(v.part[i]));
    if (__builtin_expect(any_nan(v.part), false))
      for (int i = 0; i < 4; ++i)
        bits[i] = v.part[i] == v.part[i] ? bits[i] : bit_cast<I32>(v.part[i]) | 0x00400000;
    for (int i = 0; i < 4; i += 2) Store::put(y + i * kLanes, upper_halves(bits[i], bits[i + 1]));
  }

 private:
  // Half a unit of the upper half is added, less a bit where that is even.
  static NPU_QUANT_INLINE I32 rounded(I32 bits) { return bits + 0x7fff + ((bits >> 16) & 1); }
};

// Codes: put() rounds values to nearest even and saturates them; NaN becomes the least code.
// put_ordinary() does the same, faster, or nothing: it returns false where a value is NaN or far
// out of range.
template <class T, int least, int greatest>
struct ByteElements {
  using Storage = T;
  static constexpr bool kIsInteger = true;

  static NPU_QUANT_INLINE void load(const Storage* q, I32 (&code)[4]) {
    for (int i = 0; i < 4; ++i) code[i] = widen_bytes(q + i * kLanes);
  }
  template <class Store>
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v) {
    I32 code[4];
    for (int i = 0; i < 4; ++i) {
      const F32 bounded = min(max(v.part[i], broadcast(least)), broadcast(greatest));
      code[i] = bit_cast<I32>(bounded + kRoundMagic);
    }
    Store::put(y, low_bytes(code));
  }
  template <class Store>
  static NPU_QUANT_INLINE bool put_ordinary(Storage* y, const Tile& v) {
    I8 codes;
    if (__builtin_expect(!saturated_bytes<(least < 0)>(v.part, codes), false)) return false;
    Store::put(y, codes);
    return true;
  }
};
using Int8Elements = ByteElements<int8_t, -128, 127>;
using Uint8Elements = ByteElements<uint8_t, 0, 255>;

struct Int32Elements {
  using Storage = Unaligned<int32_t>;
  static constexpr bool kIsInteger = true;

  static NPU_QUANT_INLINE void load(const Storage* q, I32 (&code)[4]) {
    for (int i = 0; i < 4; ++i) code[i] = npu_quant::load<I32>(q + i * kLanes);
  }
  template <class Store>
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v) {
    for (int i = 0; i < 4; ++i) {
      const I32 code = round_to_int32(v.part[i]);
      Store::put(y + i * kLanes, v.part[i] >= 0x1p31f ? I32{} + INT32_MAX : code);
    }
  }
  template <class Store>
  static NPU_QUANT_INLINE bool put_ordinary(Storage* y, const Tile& v) {
    if (__builtin_expect(any_nan(v.part), false)) return false;
    put<Store>(y, v);
    return true;
  }
};

// Writes codes of which those of NaN are 0.
template <class Out, class Store>
NPU_QUANT_INLINE void put_with_zero_for_nan(typename Out::Storage* y, const Tile& v) {
  if (Out::template put_ordinary<Store>(y, v)) return;
  Tile numbers;
  for (int i = 0; i < 4; ++i) numbers.part[i] = v.part[i] == v.part[i] ? v.part[i] : F32{};
  Out::template put<Store>(y, numbers);
}

// Calls f with the struct of a float dtype, which the op has checked.
template <class F>
NPU_QUANT_INLINE void visit_float_elements(DType dtype, const void* x, bool large, F f) {
  if (dtype == DType::float16) return f(Float16Elements{});
  if (dtype == DType::bfloat16) return f(BFloat16Elements{});
  if constexpr (kHalvesHelp)
    if (large || reinterpret_cast<uintptr_t>(x) % kVectorBytes != 0)
      return f(Float32Elements<HalfLoads>{});
  f(Float32Elements<WholeLoads>{});
}

// The same for the dtype of codes.
template <class F>
NPU_QUANT_INLINE void visit_code_elements(DType dtype, F f) {
  if (dtype == DType::int8) return f(Int8Elements{});
  if (dtype == DType::uint8) return f(Uint8Elements{});
  f(Int32Elements{});
}

}  // namespace
}  // namespace npu_quant
