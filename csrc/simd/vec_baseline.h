// What the baseline (SSE2 on x86-64, NEON by the compiler on aarch64) does: portable vector code.
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
V fma(V a, V b, V c);  // declared for code behind kHasFma, nowhere defined

#if defined(__SSE2__)
NPU_QUANT_INLINE void stream(void* to, I8 v) {
  _mm_stream_si128(static_cast<__m128i*>(to), bit_cast<__m128i>(v));
}
NPU_QUANT_INLINE void stream_fence() { _mm_sfence(); }
#else
NPU_QUANT_INLINE void stream(void* to, I8 v) { store(to, v); }
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
NPU_QUANT_INLINE F32 widen_float16(const void* from) {
  const I32 half = __builtin_convertvector(load<Vec<uint16_t, 8>>(from), I32);
  const I32 magnitude = half & 0x7fff;
  const F32 finite = bit_cast<F32>(magnitude << 13) * 0x1p112f;
  const I32 special = (magnitude << 13) | 0x7f800000 | ((magnitude > 0x7c00) & 0x00400000);
  const I32 bits = magnitude >= 0x7c00 ? special : bit_cast<I32>(finite);
  return bit_cast<F32>(bits | ((half & 0x8000) << 16));
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

// The same where parts 0 and 1 (2 and 3) hold the even and the odd elements of a half.
NPU_QUANT_INLINE I8 low_bytes_even_odd(const I32 (&part)[4]) {
  const I8 bytes = low_bytes(part);
  return __builtin_shufflevector(bytes, bytes, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11,
                                 15);
}

}  // namespace
}  // namespace npu_quant
