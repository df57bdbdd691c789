// What AVX2 with FMA and F16C does in intrinsics. Included by vec.h.
#pragma once

#include <immintrin.h>

namespace npu_quant {
namespace {

inline constexpr bool kHasFma = true;

NPU_QUANT_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
NPU_QUANT_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
NPU_QUANT_INLINE F64 fma(F64 a, F64 b, F64 c) { return _mm256_fmadd_pd(a, b, c); }

inline constexpr bool kHasStream = true;
NPU_QUANT_INLINE void stream(void* to, I8 v) {
  _mm256_stream_si256(static_cast<__m256i*>(to), bit_cast<__m256i>(v));
}
NPU_QUANT_INLINE void stream(void* to, Vec<int8_t, 16> v) {
  _mm_stream_si128(static_cast<__m128i*>(to), bit_cast<__m128i>(v));
}
NPU_QUANT_INLINE void stream_fence() { _mm_sfence(); }

// Eight halves, widened exactly.
NPU_QUANT_INLINE F32 widen_float16(const void* from) {
  return _mm256_cvtph_ps(load<__m128i>(from));
}

inline constexpr bool kHalvesHelp = false;
NPU_QUANT_INLINE __m256i load_halves(const void* from) { return load<__m256i>(from); }

// Halves of two vectors, rounded to nearest even.
NPU_QUANT_INLINE I16 narrow_float16(F32 a, F32 b) {
  const __m128i low = _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
  const __m128i high = _mm256_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
  return bit_cast<I16>(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
}

// Halves of a vector, and the bytes of one as words: the lower half of them, then the upper.
NPU_QUANT_INLINE void widen_float16(I16 halves, F32 (&v)[2]) {
  const __m256i all = bit_cast<__m256i>(halves);
  v[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(all));
  v[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(all, 1));
}
NPU_QUANT_INLINE I16 widen_bytes(Vec<int8_t, kVectorBytes / 2> bytes) {
  return bit_cast<I16>(_mm256_cvtepi8_epi16(bit_cast<__m128i>(bytes)));
}
NPU_QUANT_INLINE void widen_bytes(I8 bytes, I16 (&words)[2]) {
  const __m256i all = bit_cast<__m256i>(bytes);
  words[0] = bit_cast<I16>(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(all)));
  words[1] = bit_cast<I16>(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(all, 1)));
}

// c + the products of the codes in each lane, two words.
using CodeElement = int16_t;
inline constexpr int kCodesPerLane = 2;
NPU_QUANT_INLINE I32 add_products(I32 c, I32 a, I32 b) {
  const auto products = _mm256_madd_epi16(bit_cast<__m256i>(a), bit_cast<__m256i>(b));
  return wrapping_sum(c, bit_cast<I32>(products));
}

// The lower half of a vector in float64, then the upper.
NPU_QUANT_INLINE void widen_float32(F32 v, F64 (&wide)[2]) {
  wide[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
  wide[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
}

NPU_QUANT_INLINE F32 narrow_float64(F64 low, F64 high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high),
                              1);
}

// Eight 16-bit values, each in the upper half of its lane.
NPU_QUANT_INLINE I32 load_upper_halves(const void* from) {
  return bit_cast<I32>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load<__m128i>(from)), 16));
}

// Eight bytes, as integers.
NPU_QUANT_INLINE I32 widen_bytes(const int8_t* from) {
  return bit_cast<I32>(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
NPU_QUANT_INLINE I32 widen_bytes(const uint8_t* from) {
  return bit_cast<I32>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

// The upper halves of the lanes of two vectors.
NPU_QUANT_INLINE I16 upper_halves(I32 a, I32 b) {
  const auto upper = [](I32 v) { return _mm256_srli_epi32(bit_cast<__m256i>(v), 16); };
  return bit_cast<I16>(_mm256_permute4x64_epi64(_mm256_packus_epi32(upper(a), upper(b)), 0xd8));
}

// As vec.h's, which GCC compiles to a comparison and a blend.
NPU_QUANT_INLINE F32 max(F32 a, F32 b) { return _mm256_max_ps(a, b); }
NPU_QUANT_INLINE F32 min(F32 a, F32 b) { return _mm256_min_ps(a, b); }

NPU_QUANT_INLINE F32 rint(F32 v) {
  return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// To nearest even; out of range and NaN become the least integer.
NPU_QUANT_INLINE I32 round_to_int32(F32 v) { return bit_cast<I32>(_mm256_cvtps_epi32(v)); }

NPU_QUANT_INLINE bool any_nan(const F32 (&v)[4]) {
  return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(v[0], v[1], _CMP_UNORD_Q),
                                         _mm256_cmp_ps(v[2], v[3], _CMP_UNORD_Q))) != 0;
}

// Bytes of values rounded to nearest even and saturated: signed, or else unsigned. Returns false,
// and other bytes, where a value is NaN or beyond 16 bits.
template <bool is_signed>
NPU_QUANT_INLINE bool saturated_bytes(const F32 (&v)[4], I8& bytes) {
  const __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(v[0]), _mm256_cvtps_epi32(v[1]));
  const __m256i high = _mm256_packs_epi32(_mm256_cvtps_epi32(v[2]), _mm256_cvtps_epi32(v[3]));
  // Per 128 bits, four bytes of each part.
  const __m256i mixed = is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
  const __m256i sort = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  bytes = bit_cast<I8>(_mm256_permutevar8x32_epi32(mixed, sort));
  const __m256i least = _mm256_min_epi16(low, high);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(least, _mm256_set1_epi16(INT16_MIN))) == 0;
}

// Bytes of parts 0 1 0 1 ... and then 2 3 2 3 ..., per 128 bits, in order: to quadruples of a part,
// then lanes.
NPU_QUANT_INLINE I8 unmixed(__m256i mixed) {
  const __m256i sort = _mm256_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15,  //
                                        0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  const __m256i sorted = _mm256_shuffle_epi8(mixed, sort);
  return bit_cast<I8>(
      _mm256_permutevar8x32_epi32(sorted, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

// Bytes of floor(v / 2^16), v rounded to an integer, saturated: signed, or else unsigned. Returns
// false where that integer is undecided (vec.h); so it is where v is NaN or beyond 32 bits. Mixed:
// v[0] and v[1] are even and odd elements, and so are v[2] and v[3].
template <bool is_signed, bool mixed>
NPU_QUANT_INLINE bool saturated_floors(const F32 (&v)[4], I8& bytes) {
  __m256i upper[2], lower[2];  // halves of a pair of parts, alternating
  for (int i = 0; i < 2; ++i) {
    const __m256i a = _mm256_cvtps_epi32(v[2 * i]), b = _mm256_cvtps_epi32(v[2 * i + 1]);
    upper[i] = _mm256_blend_epi16(_mm256_srli_epi32(a, 16), b, 0xaa);
    lower[i] = _mm256_blend_epi16(a, _mm256_slli_epi32(b, 16), 0xaa);
  }
  const __m256i packed =
      is_signed ? _mm256_packs_epi16(upper[0], upper[1]) : _mm256_packus_epi16(upper[0], upper[1]);
  bytes = mixed ? bit_cast<I8>(_mm256_permute4x64_epi64(packed, 0xd8)) : unmixed(packed);
  const __m256i least =
      _mm256_subs_epu16(_mm256_min_epu16(lower[0], lower[1]), _mm256_set1_epi16(kUndecided - 1));
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(least, _mm256_setzero_si256())) == 0;
}

// phminposuw finds the least of eight words.
NPU_QUANT_INLINE int16_t horizontal_max_i16(I16 v) {
  const __m256i y = bit_cast<__m256i>(v);
  const __m128i x = _mm_max_epi16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
  return static_cast<int16_t>(
      ~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(x, _mm_set1_epi16(-1)))));
}

// Words 0x00bb of two parts, in the order evens of a, odds of b: packus then leaves one shuffle for
// the whole tile.
NPU_QUANT_INLINE __m256i low_byte_words(I32 a, I32 b) {
  const __m256i shifted = _mm256_slli_epi32(bit_cast<__m256i>(b), 16);
  const __m256i words = _mm256_blend_epi16(bit_cast<__m256i>(a), shifted, 0xaa);
  return _mm256_and_si256(words, _mm256_set1_epi16(0xff));
}

// In each lane what a table has at its index, 0 to 15; the table's first is 0.
NPU_QUANT_INLINE I32 table_at(const uint8_t (&table)[16], I32 index) {
  const __m256i everywhere = _mm256_broadcastsi128_si256(load<__m128i>(table));
  return bit_cast<I32>(_mm256_shuffle_epi8(everywhere, bit_cast<__m256i>(index)));
}

// The same of a table of 32 numbers, by the low 5 bits of the index.
NPU_QUANT_INLINE I32 table_at(const int32_t (&table)[32], I32 index) {
  return bit_cast<I32>(_mm256_i32gather_epi32(table, bit_cast<__m256i>(index & 31), 4));
}

inline constexpr bool kHasByteTables = false;
inline constexpr bool kHasWordTables = false;

// The low bytes of the words of two vectors.
NPU_QUANT_INLINE I8 low_bytes(I16 a, I16 b) {
  const __m256i mixed =
      _mm256_packus_epi16(bit_cast<__m256i>(a & 0xff), bit_cast<__m256i>(b & 0xff));
  return bit_cast<I8>(_mm256_permute4x64_epi64(mixed, 0xd8));
}

// The low byte of each value, consecutive over the four parts.
NPU_QUANT_INLINE I8 low_bytes(const I32 (&part)[4]) {
  return unmixed(
      _mm256_packus_epi16(low_byte_words(part[0], part[1]), low_byte_words(part[2], part[3])));
}

// 1 for each equal pair of values, else 0.
NPU_QUANT_INLINE I8 ones_where_equal(const F32 (&a)[4], const F32 (&b)[4]) {
  I32 equal[4];
  for (int i = 0; i < 4; ++i) equal[i] = a[i] == b[i];
  return low_bytes(equal) & 1;
}

// low_bytes() where parts 0 and 1 (2 and 3) hold the even and the odd elements of a half.
NPU_QUANT_INLINE I8 low_bytes_even_odd(const I32 (&part)[4]) {
  const __m256i mixed =
      _mm256_packus_epi16(low_byte_words(part[0], part[1]), low_byte_words(part[2], part[3]));
  return bit_cast<I8>(_mm256_permute4x64_epi64(mixed, 0xd8));
}

}  // namespace
}  // namespace npu_quant
