// What NEON does in intrinsics: the baseline of aarch64, as every ARMv8-A CPU has it, FMA included.
// Included by vec.h.
#pragma once

#include <arm_neon.h>

namespace npu_quant {
namespace {

inline constexpr bool kHasFma = true;

NPU_QUANT_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
NPU_QUANT_INLINE F32 fma(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
NPU_QUANT_INLINE F64 fma(F64 a, F64 b, F64 c) { return vfmaq_f64(c, a, b); }

// There is no intrinsic for a store past the caches.
inline constexpr bool kHasStream = false;
template <class V>
NPU_QUANT_INLINE void stream(void* to, V v) {
  store(to, v);
}
NPU_QUANT_INLINE void stream_fence() {}

inline constexpr bool kHalvesHelp = false;
NPU_QUANT_INLINE I32 load_halves(const void* from) { return load<I32>(from); }

template <>
NPU_QUANT_INLINE int32_t horizontal_max<int32_t, kVectorBytes>(I32 v) {
  return vmaxvq_s32(v);
}
NPU_QUANT_INLINE int16_t horizontal_max_i16(I16 v) { return vmaxvq_s16(v); }

// Four halves, widened exactly.
NPU_QUANT_INLINE F32 widen_float16(const void* from) {
  return vcvt_f32_f16(load<float16x4_t>(from));
}

// Halves of two vectors, rounded to nearest even.
NPU_QUANT_INLINE I16 narrow_float16(F32 a, F32 b) {
  return bit_cast<I16>(vcvt_high_f16_f32(vcvt_f16_f32(a), b));
}

// Halves of a vector, and the bytes of one as words: the lower half of them, then the upper.
NPU_QUANT_INLINE void widen_float16(I16 halves, F32 (&v)[2]) {
  const auto all = bit_cast<float16x8_t>(halves);
  v[0] = vcvt_f32_f16(vget_low_f16(all));
  v[1] = vcvt_high_f32_f16(all);
}
NPU_QUANT_INLINE I16 widen_bytes(Vec<int8_t, kVectorBytes / 2> bytes) {
  return vmovl_s8(bit_cast<int8x8_t>(bytes));
}
NPU_QUANT_INLINE void widen_bytes(I8 bytes, I16 (&words)[2]) {
  words[0] = vmovl_s8(vget_low_s8(bytes));
  words[1] = vmovl_high_s8(bytes);
}

// c + the products of the codes in each lane, two words. Not every CPU has SDOT, for bytes.
using CodeElement = int16_t;
inline constexpr int kCodesPerLane = 2;
NPU_QUANT_INLINE I32 add_products(I32 c, I32 a, I32 b) {
  const auto a_words = bit_cast<int16x8_t>(a), b_words = bit_cast<int16x8_t>(b);
  const int32x4_t low = vmull_s16(vget_low_s16(a_words), vget_low_s16(b_words));
  return vaddq_s32(c, vpaddq_s32(low, vmull_high_s16(a_words, b_words)));
}

// The lower half of a vector in float64, then the upper.
NPU_QUANT_INLINE void widen_float32(F32 v, F64 (&wide)[2]) {
  wide[0] = vcvt_f64_f32(vget_low_f32(v));
  wide[1] = vcvt_high_f64_f32(v);
}

NPU_QUANT_INLINE F32 narrow_float64(F64 low, F64 high) {
  return vcvt_high_f32_f64(vcvt_f32_f64(low), high);
}

// Four 16-bit values, each in the upper half of its lane.
NPU_QUANT_INLINE I32 load_upper_halves(const void* from) {
  return bit_cast<I32>(vshll_n_u16(load<uint16x4_t>(from), 16));
}

// Four bytes, as integers.
NPU_QUANT_INLINE I32 widen_bytes(const int8_t* from) {
  const int8x8_t bytes = vcreate_s8(load<uint32_t>(from));
  return vmovl_s16(vget_low_s16(vmovl_s8(bytes)));
}
NPU_QUANT_INLINE I32 widen_bytes(const uint8_t* from) {
  const uint8x8_t bytes = vcreate_u8(load<uint32_t>(from));
  return bit_cast<I32>(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
}

// The upper halves of the lanes of two vectors, and the lower.
NPU_QUANT_INLINE I16 upper_halves(I32 a, I32 b) {
  return vuzp2q_s16(bit_cast<int16x8_t>(a), bit_cast<int16x8_t>(b));
}
NPU_QUANT_INLINE I16 lower_halves(I32 a, I32 b) {
  return vuzp1q_s16(bit_cast<int16x8_t>(a), bit_cast<int16x8_t>(b));
}

NPU_QUANT_INLINE F32 rint(F32 v) { return vrndnq_f32(v); }

// To nearest even; out of range and NaN become the least integer. The instruction makes the
// greatest of what is too great, and 0 of NaN.
NPU_QUANT_INLINE I32 round_to_int32(F32 v) {
  const I32 saturated = vcvtnq_s32_f32(v);
  return v < 0x1p31f ? saturated : I32{} + INT32_MIN;
}

// A maximum that has a NaN is one.
NPU_QUANT_INLINE bool any_nan(const F32 (&v)[4]) {
  const float greatest = vmaxvq_f32(vmaxq_f32(vmaxq_f32(v[0], v[1]), vmaxq_f32(v[2], v[3])));
  return greatest != greatest;
}

// Words as bytes, saturated: signed, or else unsigned.
template <bool is_signed>
NPU_QUANT_INLINE I8 saturated_words(I16 a, I16 b) {
  if constexpr (is_signed) return vqmovn_high_s16(vqmovn_s16(a), b);
  return bit_cast<I8>(vqmovun_high_s16(vqmovun_s16(a), b));
}

// Bytes of values rounded to nearest even and saturated: signed, or else unsigned. Returns false,
// and other bytes, where a value is NaN.
template <bool is_signed>
NPU_QUANT_INLINE bool saturated_bytes(const F32 (&v)[4], I8& bytes) {
  const auto words = [&](int i) __attribute__((always_inline)) {
    const int16x4_t low = vqmovn_s32(vcvtnq_s32_f32(v[i]));
    return I16(vqmovn_high_s32(low, vcvtnq_s32_f32(v[i + 1])));
  };
  bytes = saturated_words<is_signed>(words(0), words(2));
  return !any_nan(v);
}

// Bytes of floor(v / 2^16), v rounded to an integer, saturated: signed, or else unsigned. Returns
// false where that integer is undecided (vec.h); so it is where v is NaN, which becomes 0. Beyond
// 32 bits the floor is beyond the bytes, too. Mixed: v[0] and v[1] are even and odd elements, and
// so are v[2] and v[3].
template <bool is_signed, bool mixed>
NPU_QUANT_INLINE bool saturated_floors(const F32 (&v)[4], I8& bytes) {
  I16 upper[2], lower[2];
  for (int i = 0; i < 2; ++i) {
    const I32 a = vcvtnq_s32_f32(v[2 * i]), b = vcvtnq_s32_f32(v[2 * i + 1]);
    const I16 turns = vtrn2q_s16(bit_cast<int16x8_t>(a), bit_cast<int16x8_t>(b));
    upper[i] = mixed ? turns : upper_halves(a, b);
    lower[i] = lower_halves(a, b);
  }
  bytes = saturated_words<is_signed>(upper[0], upper[1]);
  return vminvq_u16(vminq_u16(bit_cast<uint16x8_t>(lower[0]), bit_cast<uint16x8_t>(lower[1]))) >=
         kUndecided;
}

// In each lane what a table has at its index, 0 to 15; the table's first is 0.
NPU_QUANT_INLINE I32 table_at(const uint8_t (&table)[16], I32 index) {
  return bit_cast<I32>(vqtbl1q_u8(load<uint8x16_t>(table), bit_cast<uint8x16_t>(index)));
}

// 64 bytes of a table, and where the bytes of its words lie, by the low 5 bits of the index.
NPU_QUANT_INLINE uint8x16x4_t load_table(const void* from) {
  return vld1q_u8_x4(static_cast<const uint8_t*>(from));
}
NPU_QUANT_INLINE uint8x16_t bytes_of_words(I32 index) {
  return bit_cast<uint8x16_t>((index & 31) * 0x04040404 + 0x03020100);
}
NPU_QUANT_INLINE uint8x16_t bytes_of_words(I16 index) {
  return bit_cast<uint8x16_t>((index & 31) * int16_t{0x0202} + int16_t{0x0100});
}

// The same of a table of 32 numbers, by the low 5 bits of the index. Beyond a half of the table
// the first look-up makes 0, the second leaves what is there.
NPU_QUANT_INLINE I32 table_at(const int32_t (&table)[32], I32 index) {
  const uint8x16_t at = bytes_of_words(index);
  const uint8x16_t lower = vqtbl4q_u8(load_table(table), at);
  return bit_cast<I32>(vqtbx4q_u8(lower, load_table(table + 16), vsubq_u8(at, vdupq_n_u8(64))));
}

// The same of words: of the second table by the low 5 bits, too.
inline constexpr bool kHasByteTables = false;
inline constexpr bool kHasWordTables = true;
NPU_QUANT_INLINE I16 table_at(const uint8_t (&table)[16], I16 index) {
  return bit_cast<I16>(table_at(table, bit_cast<I32>(index)));
}
NPU_QUANT_INLINE I16 table_at(const int16_t (&table)[32], I16 index) {
  return bit_cast<I16>(vqtbl4q_u8(load_table(table), bytes_of_words(index)));
}

// The low bytes of the words of two vectors.
NPU_QUANT_INLINE I8 low_bytes(I16 a, I16 b) {
  return vuzp1q_s8(bit_cast<int8x16_t>(a), bit_cast<int8x16_t>(b));
}

// The low byte of each value, consecutive over the four parts.
NPU_QUANT_INLINE I8 low_bytes(const I32 (&part)[4]) {
  return low_bytes(lower_halves(part[0], part[1]), lower_halves(part[2], part[3]));
}

// 1 for each equal pair of values, else 0.
NPU_QUANT_INLINE I8 ones_where_equal(const F32 (&a)[4], const F32 (&b)[4]) {
  I32 equal[4];
  for (int i = 0; i < 4; ++i) equal[i] = a[i] == b[i];
  return low_bytes(equal) & 1;
}

// low_bytes() where parts 0 and 1 (2 and 3) hold the even and the odd elements of a half.
NPU_QUANT_INLINE I8 low_bytes_even_odd(const I32 (&part)[4]) {
  const auto turns = [&](int i) __attribute__((always_inline)) {
    return bit_cast<I32>(vtrn1q_s8(bit_cast<int8x16_t>(part[i]), bit_cast<int8x16_t>(part[i + 1])));
  };
  return bit_cast<I8>(lower_halves(turns(0), turns(2)));
}

}  // namespace
}  // namespace npu_quant
