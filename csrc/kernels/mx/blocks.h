// What the MX kernels share: a block's byte and its power of 2 from its amax, and codes by it
// (docs/numerics.md 14).
//   b = ((bits of max(amax, least) + added) >> 23) - emax, from 0 to 254
//   y = code(x * 2^(127 - b))
#pragma once

#include "kernels/mx/mx.h"
#include "kernels/rows/piece.h"

namespace npu_quant {
namespace {

inline constexpr int kMxSpecial = 255;  // the byte of a block that holds NaN or an infinity

NPU_QUANT_INLINE I32 mx_bytes(const MxRule& rule, F32 amax) {
  const I32 bits = max(magnitude_bits(amax), I32{} + rule.least);
  // Subnormal numbers as those are that have an exponent of 0 and a 1 before their fraction.
  const I32 whole = bits + min(bits - (1 << 23), I32{});
  // Of NaN the sum may wrap.
  const I32 exponent =
      bit_cast<I32>(bit_cast<U32>(whole) + static_cast<uint32_t>(rule.added)) >> 23;
  const I32 byte = min(max(exponent - rule.emax, I32{}), I32{} + 254);
  return bits >= kInfinityBits ? I32{} + kMxSpecial : byte;
}
// 2^(127 - byte), of 254 a subnormal number; of 255 any finite one.
NPU_QUANT_INLINE F32 mx_factors(I32 bytes) {
  return bit_cast<F32>(max((254 - bytes) << 23, I32{} + (1 << 22)));
}

template <class Code>
inline constexpr int64_t kMxCodesPerByte = 1;
template <int mantissa_bits>
inline constexpr int64_t kMxCodesPerByte<Float4<mantissa_bits>> = 2;

// A tile of values times factors, in the order of In::load_mixed, as codes that are bytes in memory
// order. What is done to bytes, sign and bound, is done to a whole tile at once.
template <class In, class Code>
NPU_QUANT_INLINE I8 mx_codes(const Code& code, const typename In::Storage* x,
                             const F32 (&factors)[4]) {
  using Bytes = Vec<uint8_t>;
  const Tile v = In::load_mixed(x);
  I32 codes[4];
  for (int p = 0; p < 4; ++p) codes[p] = code.of_magnitude(v.part[p] * factors[p]);
  const I8 magnitudes =
      bit_cast<I8>(min(bit_cast<Bytes>(In::pack(codes)), Bytes{} + Code::kGreatestCode));
  if constexpr (kMxCodesPerByte<Code> == 1) return magnitudes | (In::signs(x) & -0x80);
  return magnitudes | (bit_cast<I8>(bit_cast<I16>(In::signs(x)) >> 4) & 8);
}
// The same as y holds them.
template <class Code>
NPU_QUANT_INLINE auto mx_packed(I8 codes) {
  if constexpr (kMxCodesPerByte<Code> == 2)
    return packed_nibbles(codes);
  else
    return codes;
}

// Calls f with the struct of a format, and how it rounds; the op has checked both.
template <class F>
NPU_QUANT_INLINE void visit_mx_code(Format format, Rounding rounding, F f) {
  if (format == Format::float8_e4m3fn) return f(Float8E4M3FN{});
  if (format == Format::float8_e5m2) return f(Float8E5M2{});
  if (format == Format::float4_e2m1) return f(Float4E2M1{rounding});
  f(Float4E1M2{rounding});
}

// Whether results come as whole vectors that may be streamed as they are.
NPU_QUANT_INLINE bool is_aligned(const Strided& y) {
  return is_vector_aligned(y.data) && y.row_stride % kVectorBytes == 0;
}

}  // namespace
}  // namespace npu_quant
