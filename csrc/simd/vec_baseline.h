// What the baseline does where it is not vec_neon.h: portable vector code, and SSE2 on x86-64.
// Included by vec.h.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace npu_quant {
namespace {

// Without the instruction std::fma would call libm for each lane; kernels divide instead, to the
// same bytes.
inline constexpr bool kHasFma = false;
template <class V>
NPU_QUANT_INLINE V fma(V, V, V) {  // for code behind kHasFma, which never runs
  __builtin_trap();
}

#if defined(__SSE2__)
// As vec.h's, which GCC compiles to a comparison and a blend.
NPU_QUANT_INLINE F32 max(F32 a, F32 b) { return _mm_max_ps(a, b); }
NPU_QUANT_INLINE F32 min(F32 a, F32 b) { return _mm_min_ps(a, b); }

inline constexpr bool kHasStream = true;
NPU_QUANT_INLINE void stream(void* to, I8 v) {
  _mm_stream_si128(static_cast<__m128i*>(to), bit_cast<__m128i>(v));
}
NPU_QUANT_INLINE void stream(void* to, Vec<int8_t, 8> v) { store(to, v); }
NPU_QUANT_INLINE void stream_fence() { _mm_sfence(); }
#else
inline constexpr bool kHasStream = false;
template <class V>
NPU_QUANT_INLINE void stream(void* to, V v) {
  store(to, v);
}
NPU_QUANT_INLINE void stream_fence() {}
#endif

inline constexpr bool kHalvesHelp = false;
NPU_QUANT_INLINE I32 load_halves(const void* from) { return load<I32>(from); }
NPU_QUANT_INLINE int16_t horizontal_max_i16(I16 v) {
  return horizontal_max<int16_t, kVectorBytes>(v);
}

// Four halves, widened exactly: shift the fields into place and let a multiplication by 2^112 fix
// the exponent, which also normalises subnormals. Inf and NaN keep their all-ones exponent, NaN
// becomes quiet.
NPU_QUANT_INLINE F32 widen_float16(I32 half) {
  const I32 magnitude = half & 0x7fff;
  const F32 finite = bit_cast<F32>(magnitude << 13) * 0x1p112f;
  const I32 special = (magnitude << 13) | 0x7f800000 | ((magnitude > 0x7c00) & 0x00400000);
  const I32 bits = magnitude >= 0x7c00 ? special : bit_cast<I32>(finite);
  return bit_cast<F32>(bits | ((half & 0x8000) << 16));
}
NPU_QUANT_INLINE F32 widen_float16(const void* from) {
  return widen_float16(__builtin_convertvector(load<Vec<uint16_t, 8>>(from), I32));
}

// c + the products of the codes in each lane, two words.
using CodeElement = int16_t;
inline constexpr int kCodesPerLane = 2;
NPU_QUANT_INLINE I32 add_products(I32 c, I32 a, I32 b) {
#if defined(__SSE2__)
  const I32 products = bit_cast<I32>(_mm_madd_epi16(bit_cast<__m128i>(a), bit_cast<__m128i>(b)));
#else
  const I32 products = (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
  return wrapping_sum(c, products);
}

// The lower half of a vector in float64, then the upper.
NPU_QUANT_INLINE void widen_float32(F32 v, F64 (&wide)[2]) {
  wide[0] = F64{v[0], v[1]};
  wide[1] = F64{v[2], v[3]};
}

NPU_QUANT_INLINE F32 narrow_float64(F64 low, F64 high) {
  const auto both = __builtin_shufflevector(low, high, 0, 1, 2, 3);
  return __builtin_convertvector(both, F32);
}

// Halves of a vector, and the bytes of one as words: the lower half of them, then the upper.
NPU_QUANT_INLINE void widen_float16(I16 halves, F32 (&v)[2]) {
  const I16 zero{};
  v[0] =
      widen_float16(bit_cast<I32>(__builtin_shufflevector(halves, zero, 0, 8, 1, 9, 2, 10, 3, 11)));
  v[1] = widen_float16(
      bit_cast<I32>(__builtin_shufflevector(halves, zero, 4, 12, 5, 13, 6, 14, 7, 15)));
}
NPU_QUANT_INLINE I16 widen_bytes(Vec<int8_t, kVectorBytes / 2> bytes) {
  return __builtin_convertvector(bytes, I16);
}
NPU_QUANT_INLINE void widen_bytes(I8 bytes, I16 (&words)[2]) {
  const I8 zero{};
  const I8 upper[2] = {
      __builtin_shufflevector(zero, bytes, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
      __builtin_shufflevector(zero, bytes, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                              31)};
  for (int i = 0; i < 2; ++i) words[i] = bit_cast<I16>(upper[i]) >> 8;
}

// Half bit patterns in lanes of 32 bits, rounded to nearest even. A subnormal half is what is left
// of the value's fraction once 0.5, whose last place is the least half, has been added.
NPU_QUANT_INLINE I32 to_float16_bits(F32 v) {
  const I32 bits = bit_cast<I32>(v);
  const I32 magnitude = bits & 0x7fffffff;
  const I32 half_ulp = 0xfff + ((magnitude >> 13) & 1);
  // Unsigned, as the sum may wrap where it is not taken: of NaN.
  const U32 rounded = bit_cast<U32>(magnitude) - ((127u - 15) << 23) + bit_cast<U32>(half_ulp);
  const I32 normal = bit_cast<I32>(rounded >> 13);
  const I32 subnormal = bit_cast<I32>(bit_cast<F32>(magnitude) + 0.5f) - 0x3f000000;
  const I32 special = magnitude > 0x7f800000 ? I32{} + 0x7e00 : I32{} + 0x7c00;
  I32 half = magnitude < 0x38800000 ? subnormal : normal;
  half = magnitude >= 0x47800000 ? special : half;
  return half | ((bits >> 16) & 0x8000);
}

// The halves of the lanes of two vectors that `first` begins with: 0 the lower, 1 the upper.
template <int first>
NPU_QUANT_INLINE I16 pick_halves(I32 a, I32 b) {
  return __builtin_shufflevector(bit_cast<I16>(a), bit_cast<I16>(b), first, 2 + first, 4 + first,
                                 6 + first, 8 + first, 10 + first, 12 + first, 14 + first);
}

// Halves of two vectors, rounded to nearest even.
NPU_QUANT_INLINE I16 narrow_float16(F32 a, F32 b) {
  return pick_halves<0>(to_float16_bits(a), to_float16_bits(b));
}

// Four 16-bit values, each in the upper half of its lane.
NPU_QUANT_INLINE I32 load_upper_halves(const void* from) {
  I16 halves{};
  std::memcpy(&halves, from, kVectorBytes / 2);
  return bit_cast<I32>(__builtin_shufflevector(I16{}, halves, 0, 8, 1, 9, 2, 10, 3, 11));
}

// Four bytes, as integers.
template <class T>
NPU_QUANT_INLINE I32 widen_bytes(const T* from) {
  return __builtin_convertvector(load<Vec<T, 4>>(from), I32);
}

// The upper halves of the lanes of two vectors.
NPU_QUANT_INLINE I16 upper_halves(I32 a, I32 b) { return pick_halves<1>(a, b); }

// Adding 2^23 leaves no place for a fraction; larger values have none.
NPU_QUANT_INLINE F32 rint(F32 v) {
  const I32 sign = bit_cast<I32>(v) & static_cast<int32_t>(0x80000000);
  const F32 magnitude = bit_cast<F32>(bit_cast<I32>(v) & 0x7fffffff);
  const F32 rounded = magnitude < 0x1p23f ? (magnitude + 0x1p23f) - 0x1p23f : magnitude;
  return bit_cast<F32>(bit_cast<I32>(rounded) | sign);
}

// To nearest even; out of range and NaN become the least integer.
NPU_QUANT_INLINE I32 round_to_int32(F32 v) {
  const I32 in_range = (v >= -0x1p31f) & (v < 0x1p31f);
  const F32 safe = bit_cast<F32>(bit_cast<I32>(rint(v)) & in_range);
  return in_range ? __builtin_convertvector(safe, I32) : I32{} + INT32_MIN;
}

NPU_QUANT_INLINE bool any_nan(const F32 (&v)[4]) {
  const I32 is_nan = (v[0] != v[0]) | (v[1] != v[1]) | (v[2] != v[2]) | (v[3] != v[3]);
  return horizontal_max<int32_t, kVectorBytes>(-is_nan) != 0;
}

// Bytes of values rounded to nearest even and saturated: signed, or else unsigned. Returns false,
// and other bytes, where a value is NaN or beyond 16 bits.
template <bool is_signed>
NPU_QUANT_INLINE bool saturated_bytes(const F32 (&v)[4], I8& bytes) {
#if defined(__SSE2__)
  const __m128i low = _mm_packs_epi32(_mm_cvtps_epi32(v[0]), _mm_cvtps_epi32(v[1]));
  const __m128i high = _mm_packs_epi32(_mm_cvtps_epi32(v[2]), _mm_cvtps_epi32(v[3]));
  bytes = bit_cast<I8>(is_signed ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high));
  const __m128i least = _mm_min_epi16(low, high);
  return _mm_movemask_epi8(_mm_cmpeq_epi16(least, _mm_set1_epi16(INT16_MIN))) == 0;
#else
  static_cast<void>(v);
  bytes = I8{};
  return false;  // the caller's other way is right for every value
#endif
}

// Bytes of floor(v / 2^16), v rounded to an integer, saturated: signed, or else unsigned. Returns
// false where that integer is undecided (vec.h); so it is where v is NaN or beyond 32 bits. Mixed:
// v[0] and v[1] are even and odd elements, and so are v[2] and v[3].
template <bool is_signed, bool mixed>
NPU_QUANT_INLINE bool saturated_floors(const F32 (&v)[4], I8& bytes) {
#if defined(__SSE2__)
  __m128i floor[4], near = _mm_setzero_si128();
  for (int i = 0; i < 4; ++i) {
    const __m128i fixed = _mm_cvtps_epi32(v[i]);
    floor[i] = _mm_srai_epi32(fixed, 16);
    near = _mm_or_si128(near,
                        _mm_cmpeq_epi32(_mm_and_si128(fixed, _mm_set1_epi32(0x10000 - kUndecided)),
                                        _mm_setzero_si128()));
  }
  const auto words = [&](int i) {
    const __m128i a = floor[i], b = floor[i + 1];
    return mixed ? _mm_packs_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b))
                 : _mm_packs_epi32(a, b);
  };
  const __m128i low = words(0), high = words(2);
  bytes = bit_cast<I8>(is_signed ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high));
  return _mm_movemask_epi8(near) == 0;
#else
  static_cast<void>(v);
  bytes = I8{};
  return false;  // the caller's other way is right for every value
#endif
}

// In each lane what a table has at its index, 0 to 15; the table's first is 0.
NPU_QUANT_INLINE I32 table_at(const uint8_t (&table)[16], I32 index) {
  I32 bytes;
  for (int i = 0; i < kLanes; ++i) bytes[i] = table[index[i] & 15];
  return bytes;
}

// The same of a table of 32 numbers, by the low 5 bits of the index.
NPU_QUANT_INLINE I32 table_at(const int32_t (&table)[32], I32 index) {
  I32 numbers;
  for (int i = 0; i < kLanes; ++i) numbers[i] = table[index[i] & 31];
  return numbers;
}

inline constexpr bool kHasByteTables = false;
inline constexpr bool kHasWordTables = false;

// The low bytes of the words of two vectors.
NPU_QUANT_INLINE I8 low_bytes(I16 a, I16 b) {
  return __builtin_shufflevector(bit_cast<I8>(a), bit_cast<I8>(b), 0, 2, 4, 6, 8, 10, 12, 14, 16,
                                 18, 20, 22, 24, 26, 28, 30);
}

// The low byte of each value, consecutive over the four parts.
NPU_QUANT_INLINE I8 low_bytes(const I32 (&part)[4]) {
  using Byte4 = Vec<int8_t, 4>;
  I8 bytes;
  for (int i = 0; i < 4; ++i) {
    const Byte4 four = __builtin_convertvector(part[i], Byte4);
    std::memcpy(reinterpret_cast<char*>(&bytes) + 4 * i, &four, 4);
  }
  return bytes;
}

// 1 for each equal pair of values, else 0.
NPU_QUANT_INLINE I8 ones_where_equal(const F32 (&a)[4], const F32 (&b)[4]) {
  I32 equal[4];
  for (int i = 0; i < 4; ++i) equal[i] = a[i] == b[i];
  return low_bytes(equal) & 1;
}

// low_bytes() where parts 0 and 1 (2 and 3) hold the even and the odd elements of a half.
NPU_QUANT_INLINE I8 low_bytes_even_odd(const I32 (&part)[4]) {
  const I8 bytes = low_bytes(part);
  return __builtin_shufflevector(bytes, bytes, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11,
                                 15);
}

}  // namespace
}  // namespace npu_quant
