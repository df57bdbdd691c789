// What tile.h multiplies, from matrices wherever their elements lie.
//
//   x        rows of some k, one after the other           [row][k]
//   weight   panels of kPanel columns                      [panel][k / kDepth][column][kDepth]
//
// Behind the last k of a block and the last column there are zeros.
#pragma once

#include "kernels/product/product.h"
#include "kernels/product/tile.h"
#include "kernels/rows/values.h"

namespace npu_quant {
namespace {

using Matrix = ProductKernel::Matrix;

NPU_QUANT_INLINE const char* element_of(const Matrix& of, int64_t row, int64_t k) {
  return of.data + row / of.across * of.row_stride + k / of.along_k * of.stride;
}

// Some rows and k of a matrix, as lines along k, or across rows: lines of `width` codes or values;
// codes of 4 bits become bytes. `spare` has room for the elements that they share, and a line for 7
// codes more.
NPU_QUANT_INLINE void gather_lines(const Matrix& of, int64_t row, int64_t rows, int64_t k,
                                   int64_t n, bool along_k, char* to, int64_t width, char* spare) {
  const int64_t together = of.along_k * of.across, skipped = along_k ? k % of.along_k : 0;
  const int64_t lines = along_k ? rows : n, codes = along_k ? n + skipped : rows;
  const int64_t line_stride = along_k ? of.row_stride : of.stride;
  const int64_t stride = along_k ? of.stride : of.row_stride;
  const bool is_packed = together > 1;
  const int64_t elements = ceil_div(codes, together), pitch = is_packed ? elements : width;
  char* const gathered = is_packed ? spare : to;
  visit_item(of.item, [&](auto bits) {
    gather(element_of(of, row, k - skipped), line_stride, stride, lines, elements,
           reinterpret_cast<decltype(bits)*>(gathered), pitch);
  });
  if (!is_packed) return;
  for (int64_t line = 0; line < lines; ++line) {
    char* const bytes = to + line * width;
    unpack_nibbles(gathered + line * pitch * of.item, elements * together, bytes);
    for (int64_t i = 0; skipped > 0 && i < n; ++i) bytes[i] = bytes[i + skipped];
  }
}

// Twice the values of float4_e2m1, by their codes.
inline constexpr int8_t kTwiceFloat4[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};
NPU_QUANT_INLINE void take_float4(char* codes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) codes[i] = kTwiceFloat4[codes[i] & 15];
}

__attribute__((noinline)) int32_t sum_of_codes(const CodeElement* codes, int64_t n) {
  constexpr int64_t kCodes = kVectorBytes / sizeof(CodeElement);
  const I32 ones = I32{} + (kCodesPerLane == 4 ? 0x01010101 : 0x00010001);
  I32 sums{};
  int64_t i = 0;
  for (; i + kCodes <= n; i += kCodes) sums = add_products(sums, load<I32>(codes + i), ones);
  int32_t sum = sum_of_vector<int32_t, kVectorBytes>(sums);
  for (; i < n; ++i) sum += codes[i];
  return sum;
}

// n values of any format as float32, and zeros up to the end of a tile.
template <class X>
__attribute__((noinline)) void widen_row(const char* from, int64_t n, float* to) {
  const auto* x = reinterpret_cast<const typename X::Storage*>(from);
  for (int64_t i = 0; i + kTile <= n; i += kTile) store_tile(to + i, X::load(x + i));
  const int64_t whole = n / kTile * kTile;
  if (whole == n) return;
  const Padded<typename X::Storage> end(x + whole, n - whole);
  store_tile(to + whole, X::load(end.values));
}
struct Integer8 {
  using Storage = int8_t;
  static NPU_QUANT_INLINE Tile load(const Storage* x) { return Int8::values(x); }
};
NPU_QUANT_INLINE void widen_row(Format format, const char* from, int64_t n, float* to) {
  switch (format) {
    case Format::float32: return widen_row<Float32<WholeLoads>>(from, n, to);
    case Format::float16: return widen_row<Float16<WholeLoads>>(from, n, to);
    case Format::bfloat16: return widen_row<BFloat16<WholeLoads>>(from, n, to);
    case Format::int8:
    case Format::int4: return widen_row<Integer8>(from, n, to);
    default: break;
  }
  for (int64_t i = 0; i < n; i += kTile) {
    const Padded<uint8_t> codes(reinterpret_cast<const uint8_t*>(from) + i, least(n - i, kTile));
    Tile v;
    SmallCode::load(format, codes.values, v);
    store_tile(to + i, v);
  }
}

// Takes turns between the elements of a and b, of all of them.
template <bool second, class V, int... i>
NPU_QUANT_INLINE V in_turns(V a, V b, Indices<i...>) {
  constexpr int n = sizeof...(i);
  return __builtin_shufflevector(a, b, (i / 2 + i % 2 * n + (second ? n / 2 : 0))...);
}
template <bool second, class V>
NPU_QUANT_INLINE V in_turns(V a, V b) {
  return in_turns<second>(a, b, typename MakeIndices<sizeof(V)>::type{});
}

// A line of codes: kDepth lines of kPanel bytes, `pitch` apart, of which some are there.
template <int depth = kCodesPerLane>
NPU_QUANT_INLINE void interleave(const char* from, int64_t pitch, int64_t lines, CodeElement* to) {
  using Bytes = Vec<int8_t, kPanel>;
  Bytes line[depth];
  for (int k = 0; k < depth; ++k) line[k] = k < lines ? load<Bytes>(from + k * pitch) : Bytes{};
  if constexpr (depth == 4) {
    constexpr int8_t kFlip = -128;
    const Bytes even[2] = {in_turns<false>(line[0], line[2]), in_turns<true>(line[0], line[2])};
    const Bytes odd[2] = {in_turns<false>(line[1], line[3]), in_turns<true>(line[1], line[3])};
    for (int half = 0; half < 2; ++half) {
      store(to + 2 * half * kPanel, in_turns<false>(even[half], odd[half]) ^ kFlip);
      store(to + (2 * half + 1) * kPanel, in_turns<true>(even[half], odd[half]) ^ kFlip);
    }
  } else {
    store(to, widen_bytes(in_turns<false>(line[0], line[1])));
    store(to + kPanel, widen_bytes(in_turns<true>(line[0], line[1])));
  }
}

// The same of lines that lie so already: kDepth bytes for each column.
template <int depth = kCodesPerLane>
NPU_QUANT_INLINE void widen_line(const char* from, CodeElement* to) {
  for (int64_t i = 0; i < kPanel * depth; i += kVectorBytes) {
    if constexpr (depth == 4) {
      constexpr int8_t kFlip = -128;
      store(to + i, load<I8>(from + i) ^ kFlip);
    } else {
      I16 words[2];
      widen_bytes(load<I8>(from + i), words);
      store(to + i, words[0]);
      store(to + i + kVectorBytes / 2, words[1]);
    }
  }
}

}  // namespace
}  // namespace npu_quant
