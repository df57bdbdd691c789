// What AVX-512 does in intrinsics: Ice Lake, Zen 4 and later (VBMI). Included by vec.h.
#pragma once

#include <immintrin.h>

namespace npu_quant {
namespace {

inline constexpr bool kHasFma = true;

NPU_QUANT_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
NPU_QUANT_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
NPU_QUANT_INLINE F64 fma(F64 a, F64 b, F64 c) { return _mm512_fmadd_pd(a, b, c); }

inline constexpr bool kHasStream = true;
NPU_QUANT_INLINE void stream(void* to, I8 v) {
  _mm512_stream_si512(static_cast<__m512i*>(to), bit_cast<__m512i>(v));
}
NPU_QUANT_INLINE void stream(void* to, Vec<int8_t, 32> v) {
  _mm256_stream_si256(static_cast<__m256i*>(to), bit_cast<__m256i>(v));
}
NPU_QUANT_INLINE void stream_fence() { _mm_sfence(); }

inline constexpr bool kHalvesHelp = true;  // HalfLoads in values.h
NPU_QUANT_INLINE __m512i load_halves(const void* from) {
  const auto* half = static_cast<const __m256i*>(from);
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(half)),
                            _mm256_loadu_si256(half + 1), 1);
}

// Sixteen halves, widened exactly.
NPU_QUANT_INLINE F32 widen_float16(const void* from) {
  return _mm512_cvtph_ps(load<__m256i>(from));
}

// Halves of two vectors, rounded to nearest even.
NPU_QUANT_INLINE I16 narrow_float16(F32 a, F32 b) {
  const __m256i low = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
  const __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
  return bit_cast<I16>(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

// Halves of a vector, and the bytes of one as words: the lower half of them, then the upper.
NPU_QUANT_INLINE void widen_float16(I16 halves, F32 (&v)[2]) {
  const __m512i all = bit_cast<__m512i>(halves);
  v[0] = _mm512_cvtph_ps(_mm512_castsi512_si256(all));
  v[1] = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(all, 1));
}
NPU_QUANT_INLINE I16 widen_bytes(Vec<int8_t, kVectorBytes / 2> bytes) {
  return bit_cast<I16>(_mm512_cvtepi8_epi16(bit_cast<__m256i>(bytes)));
}
NPU_QUANT_INLINE void widen_bytes(I8 bytes, I16 (&words)[2]) {
  const __m512i all = bit_cast<__m512i>(bytes);
  words[0] = bit_cast<I16>(_mm512_cvtepi8_epi16(_mm512_castsi512_si256(all)));
  words[1] = bit_cast<I16>(_mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(all, 1)));
}

// c + the products of the codes in each lane, four bytes: those of b are 128 more than they stand
// for, which is the caller's to take off.
using CodeElement = int8_t;
inline constexpr int kCodesPerLane = 4;
NPU_QUANT_INLINE I32 add_products(I32 c, I32 a, I32 b) {
  return bit_cast<I32>(
      _mm512_dpbusd_epi32(bit_cast<__m512i>(c), bit_cast<__m512i>(b), bit_cast<__m512i>(a)));
}

// The lower half of a vector in float64, then the upper.
NPU_QUANT_INLINE void widen_float32(F32 v, F64 (&wide)[2]) {
  wide[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
  wide[1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}

NPU_QUANT_INLINE F32 narrow_float64(F64 low, F64 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

// Sixteen 16-bit values, each in the upper half of its lane.
NPU_QUANT_INLINE I32 load_upper_halves(const void* from) {
  return bit_cast<I32>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load<__m256i>(from)), 16));
}

// Sixteen bytes, as integers.
NPU_QUANT_INLINE I32 widen_bytes(const int8_t* from) {
  return bit_cast<I32>(_mm512_cvtepi8_epi32(load<__m128i>(from)));
}
NPU_QUANT_INLINE I32 widen_bytes(const uint8_t* from) {
  return bit_cast<I32>(_mm512_cvtepu8_epi32(load<__m128i>(from)));
}

// The upper halves of the lanes of two vectors.
NPU_QUANT_INLINE I16 upper_halves(I32 a, I32 b) {
  const I16 pick = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                    33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  return bit_cast<I16>(_mm512_permutex2var_epi16(bit_cast<__m512i>(a), bit_cast<__m512i>(pick),
                                                 bit_cast<__m512i>(b)));
}

// As vec.h's, which GCC compiles to a comparison and a blend.
NPU_QUANT_INLINE F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
NPU_QUANT_INLINE F32 min(F32 a, F32 b) { return _mm512_min_ps(a, b); }

NPU_QUANT_INLINE F32 rint(F32 v) {
  return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// To nearest even; out of range and NaN become the least integer.
NPU_QUANT_INLINE I32 round_to_int32(F32 v) { return bit_cast<I32>(_mm512_cvtps_epi32(v)); }

NPU_QUANT_INLINE bool any_nan(const F32 (&v)[4]) {
  return (_mm512_cmp_ps_mask(v[0], v[1], _CMP_UNORD_Q) |
          _mm512_cmp_ps_mask(v[2], v[3], _CMP_UNORD_Q)) != 0;
}

// Bytes of values rounded to nearest even and saturated: signed, or else unsigned. Returns false,
// and other bytes, where a value is NaN or beyond 16 bits.
template <bool is_signed>
NPU_QUANT_INLINE bool saturated_bytes(const F32 (&v)[4], I8& bytes) {
  const __m512i low = _mm512_packs_epi32(_mm512_cvtps_epi32(v[0]), _mm512_cvtps_epi32(v[1]));
  const __m512i high = _mm512_packs_epi32(_mm512_cvtps_epi32(v[2]), _mm512_cvtps_epi32(v[3]));
  // Per 128 bits, four bytes of each part.
  const __m512i mixed = is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
  const __m512i sort = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  bytes = bit_cast<I8>(_mm512_permutexvar_epi32(sort, mixed));
  const __m512i least = _mm512_min_epi16(low, high);
  return _mm512_cmpeq_epi16_mask(least, _mm512_set1_epi16(INT16_MIN)) == 0;
}

// Bytes of floor(v / 2^16), v rounded to an integer, saturated: signed, or else unsigned. Returns
// false where that integer is undecided (vec.h); so it is where v is NaN or beyond 32 bits. Mixed:
// v[0] and v[1] are even and odd elements, and so are v[2] and v[3].
template <bool is_signed, bool mixed>
NPU_QUANT_INLINE bool saturated_floors(const F32 (&v)[4], I8& bytes) {
  __m512i fixed[4];
  __mmask16 near = 0;
  for (int i = 0; i < 4; ++i) {
    fixed[i] = _mm512_cvtps_epi32(v[i]);
    near |= _mm512_testn_epi32_mask(fixed[i], _mm512_set1_epi32(0x10000 - kUndecided));
  }
  const auto floors = [&](int i) {
    if (mixed)
      return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(fixed[i], 16), fixed[i + 1]);
    return bit_cast<__m512i>(upper_halves(bit_cast<I32>(fixed[i]), bit_cast<I32>(fixed[i + 1])));
  };
  const __m512i packed = is_signed ? _mm512_packs_epi16(floors(0), floors(2))
                                   : _mm512_packus_epi16(floors(0), floors(2));
  const __m512i sort = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  bytes = bit_cast<I8>(_mm512_permutexvar_epi64(sort, packed));
  return near == 0;
}

// 1 for each equal pair of values, else 0.
NPU_QUANT_INLINE I8 ones_where_equal(const F32 (&a)[4], const F32 (&b)[4]) {
  const auto equal = [&](int i) { return _mm512_cmp_ps_mask(a[i], b[i], _CMP_EQ_OQ); };
  const __mmask64 all =
      _mm512_kunpackd(_mm512_kunpackw(equal(3), equal(2)), _mm512_kunpackw(equal(1), equal(0)));
  return bit_cast<I8>(_mm512_maskz_set1_epi8(all, 1));
}

// phminposuw finds the least of eight words.
NPU_QUANT_INLINE int16_t horizontal_max_i16(I16 v) {
  const __m512i z = bit_cast<__m512i>(v);
  const __m256i y = _mm256_max_epi16(_mm512_castsi512_si256(z), _mm512_extracti64x4_epi64(z, 1));
  const __m128i x = _mm_max_epi16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
  return static_cast<int16_t>(
      ~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(x, _mm_set1_epi16(-1)))));
}

// The bytes that `pick` names, of parts 0 and 1 in the lower half and of parts 2 and 3 in the
// upper.
NPU_QUANT_INLINE I8 pick_bytes(const I32 (&part)[4], I8 pick) {
  const auto bytes = [&](int i) { return bit_cast<__m512i>(part[i]); };
  const __m512i low = _mm512_permutex2var_epi8(bytes(0), bit_cast<__m512i>(pick), bytes(1));
  const __m512i high = _mm512_permutex2var_epi8(bytes(2), bit_cast<__m512i>(pick), bytes(3));
  return bit_cast<I8>(_mm512_mask_blend_epi64(0xf0, low, high));
}

// In each lane what a table has at its index, 0 to 15; the table's first is 0.
NPU_QUANT_INLINE I32 table_at(const uint8_t (&table)[16], I32 index) {
  const __m512i everywhere = _mm512_broadcast_i32x4(load<__m128i>(table));
  return bit_cast<I32>(_mm512_shuffle_epi8(everywhere, bit_cast<__m512i>(index)));
}

// The same of a table of 32 numbers, by the low 5 bits of the index.
NPU_QUANT_INLINE I32 table_at(const int32_t (&table)[32], I32 index) {
  return bit_cast<I32>(_mm512_permutex2var_epi32(load<__m512i>(table), bit_cast<__m512i>(index),
                                                 load<__m512i>(table + kLanes)));
}

// The same of words: of the second table by the low 5 bits, too.
inline constexpr bool kHasWordTables = true;
NPU_QUANT_INLINE I16 table_at(const uint8_t (&table)[16], I16 index) {
  return bit_cast<I16>(table_at(table, bit_cast<I32>(index)));
}
NPU_QUANT_INLINE I16 table_at(const int16_t (&table)[32], I16 index) {
  return bit_cast<I16>(_mm512_permutexvar_epi16(bit_cast<__m512i>(index), load<__m512i>(table)));
}

// Words of a tile of bytes by two tables of their bytes, for the low 7 bits of each; the high bit
// turns a word's.
inline constexpr bool kHasByteTables = true;
NPU_QUANT_INLINE void words_at(const uint8_t (&low)[128], const uint8_t (&high)[128], I8 index,
                               I16 (&words)[2]) {
  const auto bytes_at = [](const uint8_t(&table)[128], __m512i at) __attribute__((always_inline)) {
    return _mm512_permutex2var_epi8(load<__m512i>(table), at, load<__m512i>(table + 64));
  };
  // So that what unpacks per 128 bits comes in memory order.
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const __m512i at = _mm512_permutexvar_epi64(order, bit_cast<__m512i>(index));
  const __m512i lower = bytes_at(low, at), upper = bytes_at(high, at);
  const __m512i signs = _mm512_set1_epi8(-128);
  const __m512i signed_upper = _mm512_ternarylogic_epi64(upper, at, signs, 0x78);  // a ^ (b & c)
  words[0] = bit_cast<I16>(_mm512_unpacklo_epi8(lower, signed_upper));
  words[1] = bit_cast<I16>(_mm512_unpackhi_epi8(lower, signed_upper));
}

// The low bytes of the words of two vectors.
NPU_QUANT_INLINE I8 low_bytes(I16 a, I16 b) {
  const I8 pick = {0,  2,  4,   6,   8,   10,  12,  14,  16,  18,  20,  22,  24,  26,  28,  30,
                   32, 34, 36,  38,  40,  42,  44,  46,  48,  50,  52,  54,  56,  58,  60,  62,
                   64, 66, 68,  70,  72,  74,  76,  78,  80,  82,  84,  86,  88,  90,  92,  94,
                   96, 98, 100, 102, 104, 106, 108, 110, 112, 114, 116, 118, 120, 122, 124, 126};
  return bit_cast<I8>(_mm512_permutex2var_epi8(bit_cast<__m512i>(a), bit_cast<__m512i>(pick),
                                               bit_cast<__m512i>(b)));
}

// The low byte of each value, consecutive over the four parts.
NPU_QUANT_INLINE I8 low_bytes(const I32 (&part)[4]) {
  const Vec<int8_t> pick = {0,  4,  8,  12, 16, 20, 24, 28, 32, 36,  40,  44,  48,  52,  56,  60,
                            64, 68, 72, 76, 80, 84, 88, 92, 96, 100, 104, 108, 112, 116, 120, 124,
                            0,  4,  8,  12, 16, 20, 24, 28, 32, 36,  40,  44,  48,  52,  56,  60,
                            64, 68, 72, 76, 80, 84, 88, 92, 96, 100, 104, 108, 112, 116, 120, 124};
  return pick_bytes(part, pick);
}

// low_bytes() where parts 0 and 1 (2 and 3) hold the even and the odd elements of a half.
NPU_QUANT_INLINE I8 low_bytes_even_odd(const I32 (&part)[4]) {
  const Vec<int8_t> pick = {0,  64, 4,  68,  8,  72,  12, 76,  16, 80,  20, 84,  24, 88,  28, 92,
                            32, 96, 36, 100, 40, 104, 44, 108, 48, 112, 52, 116, 56, 120, 60, 124,
                            0,  64, 4,  68,  8,  72,  12, 76,  16, 80,  20, 84,  24, 88,  28, 92,
                            32, 96, 36, 100, 40, 104, 44, 108, 48, 112, 52, 116, 56, 120, 60, 124};
  return pick_bytes(part, pick);
}

}  // namespace
}  // namespace npu_quant
