// Vectors of one target: GCC/Clang vector extensions (operators come free) and the few operations
// they lack.
//
// Included by kernel sources only, each compiled once per target. Everything lives in an anonymous
// namespace: a symbol the linker may merge would let one target's code run on another target's CPU.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/target.h"

#define NPU_QUANT_INLINE inline __attribute__((always_inline))

static_assert(std::endian::native == std::endian::little, "lanes are taken apart by this order");

namespace npu_quant {
namespace {

#if defined(NPU_QUANT_TARGET_AVX512)
inline constexpr Target kTarget = Target::avx512;
inline constexpr int kVectorBytes = 64;
#elif defined(NPU_QUANT_TARGET_AVX2)
inline constexpr Target kTarget = Target::avx2;
inline constexpr int kVectorBytes = 32;
#else
inline constexpr Target kTarget = Target::baseline;
inline constexpr int kVectorBytes = 16;
#endif

template <class T, int bytes>
struct VectorType {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class T, int bytes = kVectorBytes>
using Vec = typename VectorType<T, bytes>::type;

using F64 = Vec<double>;
using F32 = Vec<float>;
using I32 = Vec<int32_t>;
using U32 = Vec<uint32_t>;
using I16 = Vec<int16_t>;
using I8 = Vec<int8_t>;

inline constexpr int kLanes = kVectorBytes / 4;  // of fp32
inline constexpr int kTile = 4 * kLanes;         // elements a loop step handles: one vector of int8

// A tile of values in fp32: in memory order, or in one that the input type knows (values.h).
struct Tile {
  F32 part[4];
};

template <class To, class From>
NPU_QUANT_INLINE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <class T>
NPU_QUANT_INLINE const Unaligned<T>* unaligned(const T* values) {
  return reinterpret_cast<const Unaligned<T>*>(values);
}

template <class V>
NPU_QUANT_INLINE V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

template <class V>
NPU_QUANT_INLINE void store(void* to, V v) {
  std::memcpy(to, &v, sizeof(v));
}

// x in every lane (x - 0 is x for every x, which the compiler knows; 0 + x is not, for x = -0).
NPU_QUANT_INLINE F32 broadcast(float x) { return x - F32{}; }

// Per lane, as the scalar expressions would: the comparison is false for NaN, which leaves b.
template <class V>
NPU_QUANT_INLINE V max(V a, V b) {
  return a > b ? a : b;
}
template <class V>
NPU_QUANT_INLINE V min(V a, V b) {
  return a < b ? a : b;
}

// Patterns of floats as integers of the same order, NaN at both ends: of negative ones all bits but
// the sign are flipped, and that again turns them back.
template <class Int>
NPU_QUANT_INLINE Vec<Int> in_order(Vec<Int> bits) {
  constexpr int kSign = 8 * sizeof(Int) - 1;
  return bits ^ ((bits >> kSign) & static_cast<Int>(~(Int{1} << kSign)));
}

// The numbers from 0 on, for __builtin_shufflevector.
template <int... i>
struct Indices {};
template <int n, int... i>
struct MakeIndices : MakeIndices<n - 1, n - 1, i...> {};
template <int... i>
struct MakeIndices<0, i...> {
  using type = Indices<i...>;
};

// The largest lane; halves down to 16 bytes, then rotates.
template <class T, int bytes>
NPU_QUANT_INLINE T horizontal_max(Vec<T, bytes> v) {
  if constexpr (bytes > 16) {
    const Vec<T, bytes / 2> low = load<Vec<T, bytes / 2>>(&v);
    const Vec<T, bytes / 2> high =
        load<Vec<T, bytes / 2>>(reinterpret_cast<const char*>(&v) + bytes / 2);
    return horizontal_max<T, bytes / 2>(max(low, high));
  } else if constexpr (sizeof(T) == 2) {
    v = max(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
    v = max(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
    return max(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6))[0];
  } else {
    v = max(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
    return max(v, __builtin_shufflevector(v, v, 1, 0, 3, 2))[0];
  }
}

// The sum of all lanes of a vector, or of some: the upper half of the lanes is added to the lower,
// again and again, so that it does not depend on how many a vector holds.
template <class T, int bytes>
NPU_QUANT_INLINE T sum_of_vector(Vec<T, bytes> v) {
  if constexpr (bytes == sizeof(T)) {
    return v[0];
  } else {
    Vec<T, bytes / 2> halves[2];
    std::memcpy(halves, &v, sizeof halves);
    return sum_of_vector<T, bytes / 2>(halves[0] + halves[1]);
  }
}
template <class T, int lanes, class V>
NPU_QUANT_INLINE T sum_of_lanes(const V* vectors) {
  Vec<T> all[lanes * sizeof(T) / kVectorBytes];
  std::memcpy(all, vectors, sizeof all);
  for (int half = sizeof all / sizeof *all / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) all[i] += all[i + half];
  return sum_of_vector<T, kVectorBytes>(all[0]);
}

// A sum that wraps, as sums of int8 products do beyond K = 131,071; that of signed numbers must
// not.
NPU_QUANT_INLINE I32 wrapping_sum(I32 a, I32 b) {
  return bit_cast<I32>(bit_cast<U32>(a) + bit_cast<U32>(b));
}

// saturated_floors() decides nothing about integers less than this above a multiple of 2^16.
inline constexpr int kUndecided = 8;

}  // namespace
}  // namespace npu_quant

#if defined(NPU_QUANT_TARGET_AVX512)
#include "simd/vec_avx512.h"
#elif defined(NPU_QUANT_TARGET_AVX2)
#include "simd/vec_avx2.h"
#elif defined(__aarch64__)
#include "simd/vec_neon.h"
#else
#include "simd/vec_baseline.h"
#endif

namespace npu_quant {
namespace {

// Where vectors of results, or halves of them, go: into the caches, or past them where the output
// is far larger than they are (then the address is a multiple of their size). A switch at run time:
// one loop serves both, and its branch is always foreseen.
struct Stores {
  bool stream;

  template <class V>
  NPU_QUANT_INLINE void put(void* to, V v) const {
    if (kHasStream && stream)
      npu_quant::stream(to, bit_cast<Vec<int8_t, sizeof(V)>>(v));
    else
      store(to, v);
  }
};

NPU_QUANT_INLINE bool is_vector_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kVectorBytes == 0;
}

// Asks for a cache line. The address may lie past the end of memory: that never faults.
NPU_QUANT_INLINE void prefetch(uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 3);
}
// The same, into the level of cache that suits the CPU (core/target.h).
NPU_QUANT_INLINE void prefetch_into(CacheLevel level, uintptr_t address) {
#if defined(__aarch64__)
  const bool is_second = level != CacheLevel::first;  // branches compare with 0 by themselves
#else
  const bool is_second = level == CacheLevel::second;
#endif
  if (is_second)
    __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
  else
    prefetch(address);
}

// To an integer, of what rint() says to the nearest; NaN and infinities stay.
NPU_QUANT_INLINE F32 floor(F32 v) {
  const F32 nearest = rint(v);
  return nearest > v ? nearest - 1 : nearest;
}
NPU_QUANT_INLINE F32 ceil(F32 v) {
  const F32 nearest = rint(v);
  return nearest < v ? nearest + 1 : nearest;
}
NPU_QUANT_INLINE F32 trunc(F32 v) { return v < F32{} ? ceil(v) : floor(v); }

}  // namespace
}  // namespace npu_quant
