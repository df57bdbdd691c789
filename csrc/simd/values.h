// The float types of arrays: one struct each, with everything a loop needs to read and write them.
//
// load() reads a tile of values in memory order, and put() writes one; put_exact() one that needs
// no rounding in bf16. load_mixed() reads them in the order that costs least, which pack() undoes
// when they have become codes, and put_mixed() when they are written: bf16 comes as even and odd
// elements (kMixes). mixed() brings a tile into that order, unmixed() back.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

// fp32 bit patterns of |v|: as integers they order like the values, with NaN above inf.
inline constexpr int32_t kInfinityBits = 0x7f800000;
inline constexpr int32_t kQuietNaNBits = 0x7fc00000;

NPU_QUANT_INLINE I32 magnitude_bits(F32 v) { return bit_cast<I32>(v) & 0x7fffffff; }

// The second byte of every 16-bit element of two vectors.
template <int... i>
NPU_QUANT_INLINE I8 upper_bytes(I8 a, I8 b, Indices<i...>) {
  return __builtin_shufflevector(a, b, (2 * i + 1)...);
}
NPU_QUANT_INLINE I8 upper_bytes(I16 a, I16 b) {
  return upper_bytes(bit_cast<I8>(a), bit_cast<I8>(b), MakeIndices<kVectorBytes>::type{});
}

// The running max |v| over tiles of fp32 values, on bit patterns, so that a NaN stays.
struct AmaxFloat32 {
  using Bits = int32_t;
  I32 part[4] = {};

  NPU_QUANT_INLINE void include(const Tile& v) {
    for (int i = 0; i < 4; ++i) part[i] = max(part[i], magnitude_bits(v.part[i]));
  }
  NPU_QUANT_INLINE int32_t bits() const {
    const I32 all = max(max(part[0], part[1]), max(part[2], part[3]));
    return horizontal_max<int32_t, kVectorBytes>(all);
  }
  static NPU_QUANT_INLINE float value(int32_t bits) { return bit_cast<float>(quiet_nan_or(bits)); }
  // The values of kLanes amax at once.
  static NPU_QUANT_INLINE F32 values(const int32_t* bits) {
    return bit_cast<F32>(quiet_nan_or(load<I32>(bits)));
  }

 private:
  template <class Bits>
  static NPU_QUANT_INLINE Bits quiet_nan_or(Bits bits) {
    return bits > kInfinityBits ? Bits{} + kQuietNaNBits : bits;
  }
};

// The same over 16-bit floats, before widening: half the work, since their magnitudes order like
// 15-bit integers.
template <class In, class Loads>
struct AmaxBits16 {
  using Bits = int16_t;
  I16 part[2] = {};

  NPU_QUANT_INLINE void include(const typename In::Storage* x) {
    part[0] = max(part[0], Loads::template load<I16>(x) & 0x7fff);
    part[1] = max(part[1], Loads::template load<I16>(x + kTile / 2) & 0x7fff);
  }
  NPU_QUANT_INLINE int16_t bits() const { return horizontal_max_i16(max(part[0], part[1])); }
  static NPU_QUANT_INLINE float value(int16_t b) {
    return b > In::kInfinity ? bit_cast<float>(kQuietNaNBits) : In::widen(static_cast<uint16_t>(b));
  }
  // The values of kLanes amax at once.
  static NPU_QUANT_INLINE F32 values(const int16_t* bits) {
    const F32 v = In::widen_lanes(bits);
    return v == v ? v : F32{} + bit_cast<float>(kQuietNaNBits);
  }
};

// How x is read. Arrays mostly start at 16 modulo 64, where a 64-byte load straddles two cache
// lines every time; two 32-byte loads do so only every other time, and are faster there (Zen
// 5: 1.2x in cache, up to 1.6x from memory), and a little from memory anyhow. Aligned x in cache is
// read whole.
struct WholeLoads {
  template <class V>
  static NPU_QUANT_INLINE V load(const void* x) {
    return npu_quant::load<V>(x);
  }
};
struct HalfLoads {
  template <class V>
  static NPU_QUANT_INLINE V load(const void* x) {
    return bit_cast<V>(load_halves(x));
  }
};

template <class Loads>
struct Float32 {
  using Whole = Float32<WholeLoads>;
  using Storage = Unaligned<float>;
  using Amax = AmaxFloat32;
  static constexpr bool kIs16Bit = false;
  static constexpr bool kMixes = false;
  static constexpr int32_t kInfinity = kInfinityBits;

  static NPU_QUANT_INLINE Tile load(const Storage* x) {
    Tile v;
    for (int i = 0; i < 4; ++i) v.part[i] = Loads::template load<F32>(x + i * kLanes);
    return v;
  }
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v, Stores stores) {
    for (int i = 0; i < 4; ++i) stores.put(y + i * kLanes, v.part[i]);
  }
  static NPU_QUANT_INLINE void put_exact(Storage* y, const Tile& v, Stores stores) {
    put(y, v, stores);
  }
  // Bytes that are below 0 where elements are.
  static NPU_QUANT_INLINE I8 signs(const Storage* x) {
    I32 upper[4];
    for (int i = 0; i < 4; ++i) upper[i] = Loads::template load<I32>(x + i * kLanes) >> 24;
    return low_bytes(upper);
  }
  static NPU_QUANT_INLINE void include(Amax& amax, const Storage* x) { amax.include(load(x)); }
  static NPU_QUANT_INLINE Tile load_mixed(const Storage* x) { return load(x); }
  static NPU_QUANT_INLINE Tile mixed(const Tile& v) { return v; }
  static NPU_QUANT_INLINE Tile unmixed(const Tile& v) { return v; }
  static NPU_QUANT_INLINE void put_mixed(Storage* y, const Tile& v, Stores stores) {
    put(y, v, stores);
  }
  static NPU_QUANT_INLINE I8 pack(const I32 (&part)[4]) { return low_bytes(part); }
};

template <class Loads>
struct Float16 {
  using Whole = Float16<WholeLoads>;
  using Storage = Unaligned<uint16_t>;
  using Amax = AmaxBits16<Float16, Loads>;
  static constexpr bool kIs16Bit = true;
  static constexpr bool kMixes = false;
  static constexpr int16_t kInfinity = 0x7c00;

  static NPU_QUANT_INLINE Tile load(const Storage* x) {
    Tile v;
    for (int i = 0; i < 4; ++i) v.part[i] = widen_float16(x + i * kLanes);
    return v;
  }
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v, Stores stores) {
    for (int i = 0; i < 4; i += 2)
      stores.put(y + i * kLanes, narrow_float16(v.part[i], v.part[i + 1]));
  }
  static NPU_QUANT_INLINE void put_exact(Storage* y, const Tile& v, Stores stores) {
    put(y, v, stores);
  }
  static NPU_QUANT_INLINE float widen(uint16_t bits) {
    const Vec<uint16_t> halves = {bits};
    return widen_float16(&halves)[0];
  }
  static NPU_QUANT_INLINE F32 widen_lanes(const void* bits) { return widen_float16(bits); }
  static NPU_QUANT_INLINE I8 signs(const Storage* x) {
    return upper_bytes(Loads::template load<I16>(x), Loads::template load<I16>(x + kTile / 2));
  }
  static NPU_QUANT_INLINE void include(Amax& amax, const Storage* x) { amax.include(x); }
  static NPU_QUANT_INLINE Tile load_mixed(const Storage* x) { return load(x); }
  static NPU_QUANT_INLINE Tile mixed(const Tile& v) { return v; }
  static NPU_QUANT_INLINE Tile unmixed(const Tile& v) { return v; }
  static NPU_QUANT_INLINE void put_mixed(Storage* y, const Tile& v, Stores stores) {
    put(y, v, stores);
  }
  static NPU_QUANT_INLINE I8 pack(const I32 (&part)[4]) { return low_bytes(part); }
  // Of parts 0 and 1, or 2 and 3, in memory order.
  static NPU_QUANT_INLINE I16 upper_halves_of(F32 a, F32 b) {
    return upper_halves(bit_cast<I32>(a), bit_cast<I32>(b));
  }
};

// bf16 is the upper half of fp32.
template <class Loads>
struct BFloat16 {
  using Whole = BFloat16<WholeLoads>;
  using Storage = Unaligned<uint16_t>;
  using Amax = AmaxBits16<BFloat16, Loads>;
  static constexpr bool kIs16Bit = true;
  static constexpr bool kMixes = true;
  static constexpr int16_t kInfinity = 0x7f80;

  static NPU_QUANT_INLINE Tile load(const Storage* x) {
    Tile v;
    for (int i = 0; i < 4; ++i) v.part[i] = bit_cast<F32>(load_upper_halves(x + i * kLanes));
    return v;
  }
  static NPU_QUANT_INLINE void put(Storage* y, const Tile& v, Stores stores) {
    put_exact(y, rounded(v), stores);
  }
  static NPU_QUANT_INLINE void put_mixed(Storage* y, const Tile& v, Stores stores) {
    const Tile exact = rounded(v);
    for (int i = 0; i < 4; i += 2)
      stores.put(y + i * kLanes, upper_halves_of(exact.part[i], exact.part[i + 1]));
  }
  static NPU_QUANT_INLINE void put_exact(Storage* y, const Tile& v, Stores stores) {
    for (int i = 0; i < 4; i += 2)
      stores.put(y + i * kLanes,
                 upper_halves(bit_cast<I32>(v.part[i]), bit_cast<I32>(v.part[i + 1])));
  }
  static NPU_QUANT_INLINE float widen(uint16_t bits) {
    return bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  static NPU_QUANT_INLINE F32 widen_lanes(const void* bits) {
    const auto halves = npu_quant::load<Vec<uint16_t, kVectorBytes / 2>>(bits);
    return bit_cast<F32>(__builtin_convertvector(halves, I32) << 16);
  }
  static NPU_QUANT_INLINE I8 signs(const Storage* x) {
    return upper_bytes(Loads::template load<I16>(x), Loads::template load<I16>(x + kTile / 2));
  }
  static NPU_QUANT_INLINE void include(Amax& amax, const Storage* x) { amax.include(x); }
  // A word holds an even element (shift it up) and an odd one (mask the even one off).
  static NPU_QUANT_INLINE Tile load_mixed(const Storage* x) {
    Tile v;
    for (int i = 0; i < 4; i += 2) {
      const I32 pairs = Loads::template load<I32>(x + i * kLanes);
      v.part[i] = bit_cast<F32>(pairs << 16);
      v.part[i + 1] = bit_cast<F32>(pairs & static_cast<int32_t>(0xffff0000));
    }
    return v;
  }
  static NPU_QUANT_INLINE Tile mixed(const Tile& v) {
    Tile mixed;
    for (int i = 0; i < 4; i += 2) {
      mixed.part[i] = every_other<0>(v.part[i], v.part[i + 1], Lanes{});
      mixed.part[i + 1] = every_other<1>(v.part[i], v.part[i + 1], Lanes{});
    }
    return mixed;
  }
  static NPU_QUANT_INLINE Tile unmixed(const Tile& v) {
    Tile unmixed;
    for (int i = 0; i < 4; i += 2) {
      unmixed.part[i] = in_turn<0>(v.part[i], v.part[i + 1], Lanes{});
      unmixed.part[i + 1] = in_turn<kLanes / 2>(v.part[i], v.part[i + 1], Lanes{});
    }
    return unmixed;
  }
  static NPU_QUANT_INLINE I8 pack(const I32 (&part)[4]) { return low_bytes_even_odd(part); }
  static NPU_QUANT_INLINE I16 upper_halves_of(F32 even, F32 odd) {
    using Unsigned = Vec<uint32_t>;
    const Unsigned low = bit_cast<Unsigned>(even) >> 16;
    return bit_cast<I16>(low | (bit_cast<Unsigned>(odd) & 0xffff0000u));
  }

 private:
  using Lanes = MakeIndices<kLanes>::type;

  // Lanes `first`, first + 2, ... of two vectors.
  template <int first, int... i>
  static NPU_QUANT_INLINE F32 every_other(F32 a, F32 b, Indices<i...>) {
    return __builtin_shufflevector(a, b, (first + 2 * i)...);
  }
  // From lane `first` on, one of each in turn.
  template <int first, int... i>
  static NPU_QUANT_INLINE F32 in_turn(F32 a, F32 b, Indices<i...>) {
    return __builtin_shufflevector(a, b, (first + i / 2 + i % 2 * kLanes)...);
  }
  // What differs from bf16 in the lower halves alone. Half a unit of the upper half is added, less
  // a bit where that is even. Unsigned, as of NaN the sum may wrap.
  static NPU_QUANT_INLINE Tile rounded(const Tile& v) {
    Tile rounded;
    for (int i = 0; i < 4; ++i) {
      const I32 bits = bit_cast<I32>(v.part[i]);
      const I32 half = 0x7fff + ((bits >> 16) & 1);
      rounded.part[i] = bit_cast<F32>(bit_cast<U32>(bits) + bit_cast<U32>(half));
    }
    if (__builtin_expect(any_nan(v.part), false))
      for (int i = 0; i < 4; ++i) {
        const F32 quiet = bit_cast<F32>(bit_cast<I32>(v.part[i]) | 0x00400000);
        rounded.part[i] = v.part[i] == v.part[i] ? rounded.part[i] : quiet;
      }
    return rounded;
  }
};

// Calls f with the struct of a dtype, which the op has checked to be one of the three.
template <class Loads, class F>
NPU_QUANT_INLINE void visit_float_with(DType dtype, F f) {
  if (dtype == DType::float16) return f(Float16<Loads>{});
  if (dtype == DType::bfloat16) return f(BFloat16<Loads>{});
  f(Float32<Loads>{});
}

// Whether rows that begin at x and `row_stride` bytes on are to be read by halves; `large` is
// whether they come from memory rather than a cache.
NPU_QUANT_INLINE bool halves_help(const void* x, int64_t row_stride, bool large) {
  const auto address = reinterpret_cast<uintptr_t>(x) | static_cast<uintptr_t>(row_stride);
  return kHalvesHelp && (large || address % kVectorBytes != 0);
}

// The same for x read in the way that is best for it: in all types, or in float32 alone, where the
// others take longer to widen than to read.
template <class F>
NPU_QUANT_INLINE void visit_float(DType dtype, const void* x, int64_t row_stride, bool large, F f) {
  if constexpr (kHalvesHelp)
    if (halves_help(x, row_stride, large)) return visit_float_with<HalfLoads>(dtype, f);
  visit_float_with<WholeLoads>(dtype, f);
}
template <class F>
NPU_QUANT_INLINE void visit_float(DType dtype, bool by_halves, F f) {
  if constexpr (kHalvesHelp)
    if (dtype == DType::float32 && by_halves) return f(Float32<HalfLoads>{});
  visit_float_with<WholeLoads>(dtype, f);
}

}  // namespace
}  // namespace npu_quant
