// What AVX-512 does in intrinsics: Ice Lake, Zen 4 and later (VBMI). Included by vec.h.
#pragma once

#include <immintrin.h>

namespace npu_quant {
namespace {

inline constexpr bool kHasFma = true;

NPU_QUANT_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
NPU_QUANT_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }

NPU_QUANT_INLINE void stream(void* to, I8 v) {
  _mm512_stream_si512(static_cast<__m512i*>(to), bit_cast<__m512i>(v));
}
NPU_QUANT_INLINE void stream_fence() { _mm_sfence(); }

inline constexpr bool kHalvesHelp = true;  // HalfLoads in convert.h
NPU_QUANT_INLINE __m512i load_halves(const void* from) {
  const auto* half = static_cast<const __m256i*>(from);
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(half)),
                            _mm256_loadu_si256(half + 1), 1);
}

// Sixteen halves, widened exactly.
NPU_QUANT_INLINE F32 widen_float16(const void* from) {
  return _mm512_cvtph_ps(load<__m256i>(from));
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

// The low byte of each value, consecutive over the four parts.
NPU_QUANT_INLINE I8 low_bytes(const I32 (&part)[4]) {
  const Vec<int8_t> pick = {0,  4,  8,  12, 16, 20, 24, 28, 32, 36,  40,  44,  48,  52,  56,  60,
                            64, 68, 72, 76, 80, 84, 88, 92, 96, 100, 104, 108, 112, 116, 120, 124,
                            0,  4,  8,  12, 16, 20, 24, 28, 32, 36,  40,  44,  48,  52,  56,  60,
                            64, 68, 72, 76, 80, 84, 88, 92, 96, 100, 104, 108, 112, 116, 120, 124};
  return pick_bytes(part, pick);
}

// The same where parts 0 and 1 (2 and 3) hold the even and the odd elements of a half.
NPU_QUANT_INLINE I8 low_bytes_even_odd(const I32 (&part)[4]) {
  const Vec<int8_t> pick = {0,  64, 4,  68,  8,  72,  12, 76,  16, 80,  20, 84,  24, 88,  28, 92,
                            32, 96, 36, 100, 40, 104, 44, 108, 48, 112, 52, 116, 56, 120, 60, 124,
                            0,  64, 4,  68,  8,  72,  12, 76,  16, 80,  20, 84,  24, 88,  28, 92,
                            32, 96, 36, 100, 40, 104, 44, 108, 48, 112, 52, 116, 56, 120, 60, 124};
  return pick_bytes(part, pick);
}

}  // namespace
}  // namespace npu_quant
