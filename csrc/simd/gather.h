// Copies between strided elements and contiguous rows, for arrays whose rows are not contiguous in
// memory.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

// Where neighbouring rows lie closer together than neighbouring elements (a transposed array), so
// many rows are copied together: they are 64 bytes, the cache line they share.
constexpr int64_t rows_at_once(int64_t item) { return 64 / item; }

NPU_QUANT_INLINE bool rows_share_lines(int64_t row_stride, int64_t stride) {
  const int64_t apart = row_stride < 0 ? -row_stride : row_stride;
  return apart > 0 && apart < (stride < 0 ? -stride : stride);
}

// Takes turns between the elements of a and b, in the first half of every 16 bytes, or the second.
template <bool second, class T, int bytes, int... i>
NPU_QUANT_INLINE Vec<T, bytes> zip(Vec<T, bytes> a, Vec<T, bytes> b, Indices<i...>) {
  constexpr int n = 16 / sizeof(T), all = bytes / sizeof(T), from = second ? n / 2 : 0;
  return __builtin_shufflevector(a, b, (i / n * n + i % n / 2 + from + i % 2 * all)...);
}

// n = 16 / sizeof(T) rows of squares become their columns: zipping the halves log2(n) times
// transposes a square, and a vector does as many squares side by side as it has 16 bytes.
//
//   a0 a1 a2 a3 | a4 a5 a6 a7        a0 b0 c0 d0 | a4 b4 c4 d4
//   b0 b1 b2 b3 | b4 b5 b6 b7   ->   a1 b1 c1 d1 | a5 b5 c5 d5
//   c0 c1 c2 c3 | c4 c5 c6 c7        a2 b2 c2 d2 | a6 b6 c6 d6
//   d0 d1 d2 d3 | d4 d5 d6 d7        a3 b3 c3 d3 | a7 b7 c7 d7
template <class T, int bytes>
NPU_QUANT_INLINE void transpose_squares(Vec<T, bytes> (&v)[16 / sizeof(T)]) {
  constexpr int n = 16 / sizeof(T);
  constexpr typename MakeIndices<bytes / sizeof(T)>::type kAll{};
  Vec<T, bytes> w[n];
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      w[2 * i] = zip<false, T, bytes>(v[i], v[i + n / 2], kAll);
      w[2 * i + 1] = zip<true, T, bytes>(v[i], v[i + n / 2], kAll);
    }
    for (int i = 0; i < n; ++i) v[i] = w[i];
  }
}

// n lines of `bytes`, from_stride apart, become rows of 16 bytes, to_stride apart: each line is
// read whole.
template <class T, int bytes>
NPU_QUANT_INLINE void lines_to_rows(const char* from, int64_t from_stride, char* to,
                                    int64_t to_stride) {
  constexpr int n = 16 / sizeof(T);
  Vec<T, bytes> v[n];
  for (int i = 0; i < n; ++i) v[i] = load<Vec<T, bytes>>(from + i * from_stride);
  transpose_squares<T, bytes>(v);
  for (int i = 0; i < n; ++i)
    for (int square = 0; square < bytes / 16; ++square)
      std::memcpy(to + (square * n + i) * to_stride,
                  reinterpret_cast<const char*>(&v[i]) + square * 16, 16);
}

// `columns` lines of contiguous elements, from_stride apart, become rows of as many elements, to
// + to_stride apart (in bytes). Not inlined: every kernel would hold one for each tensor.
template <class T>
__attribute__((noinline)) void transpose(const char* from, int64_t from_stride, int64_t rows,
                                         int64_t columns, char* to, int64_t to_stride) {
  constexpr int64_t n = 16 / sizeof(T), item = sizeof(T), wide = kVectorBytes / item;
  const int64_t square_columns = columns / n * n, square_rows = rows / n * n;
  // Line by line, so that a cache line is used up before the next is read.
  for (int64_t column = 0; column < square_columns; column += n) {
    const char* const line = from + column * from_stride;
    int64_t row = 0;
    for (; row + wide <= rows; row += wide)
      lines_to_rows<T, kVectorBytes>(line + row * item, from_stride,
                                     to + row * to_stride + column * item, to_stride);
    for (; row < square_rows; row += n)
      lines_to_rows<T, 16>(line + row * item, from_stride, to + row * to_stride + column * item,
                           to_stride);
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = row < square_rows ? square_columns : 0; column < columns; ++column)
      std::memcpy(to + row * to_stride + column * item, from + column * from_stride + row * item,
                  sizeof(T));
}

template <class T, int... i>
NPU_QUANT_INLINE Vec<T> every_second(Vec<T> a, Vec<T> b, Indices<i...>) {
  return __builtin_shufflevector(a, b, (2 * i)...);
}

// Every second of some elements, n of them: whole vectors of both, never beyond the last.
template <class T>
__attribute__((noinline)) void gather_every_second(const char* from, int64_t n, T* to) {
  constexpr int64_t lanes = kVectorBytes / sizeof(T), item = sizeof(T);
  constexpr typename MakeIndices<lanes>::type kAll{};
  int64_t i = 0;
  for (; i + lanes < n; i += lanes) {
    const char* const at = from + 2 * i * item;
    store(to + i, every_second<T>(load<Vec<T>>(at), load<Vec<T>>(at + kVectorBytes), kAll));
  }
  for (; i < n; ++i) std::memcpy(to + i, from + 2 * i * item, sizeof(T));
}

template <class T, int... i>
NPU_QUANT_INLINE Vec<T> reversed(Vec<T> v, Indices<i...>) {
  return __builtin_shufflevector(v, v, (int{sizeof...(i)} - 1 - i)...);
}

// n elements, each before the one that precedes it.
template <class T>
__attribute__((noinline)) void gather_reversed(const char* from, int64_t n, T* to) {
  constexpr int64_t lanes = kVectorBytes / sizeof(T), item = sizeof(T);
  constexpr typename MakeIndices<lanes>::type kAll{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(to + i, reversed<T>(load<Vec<T>>(from - (i + lanes - 1) * item), kAll));
  for (; i < n; ++i) std::memcpy(to + i, from - i * item, sizeof(T));
}

// Element (row, column) lies at from + row * row_stride + column * stride; it goes to to[row *
// width + column].
template <class T>
__attribute__((noinline)) void gather(const char* from, int64_t row_stride, int64_t stride,
                                      int64_t rows, int64_t columns, T* to, int64_t width) {
  constexpr int64_t item = sizeof(T);
  auto* const bytes = reinterpret_cast<char*>(to);
  if (row_stride == item) return transpose<T>(from, stride, rows, columns, bytes, width * item);
  if (row_stride == -item)  // the last row comes first in memory
    return transpose<T>(from - (rows - 1) * item, stride, rows, columns,
                        bytes + (rows - 1) * width * item, -width * item);
  for (int64_t row = 0; row < rows; ++row) {
    const char* const elements = from + row * row_stride;
    if (stride == item) {
      std::memcpy(to + row * width, elements, static_cast<size_t>(columns * item));
      continue;
    }
    if (stride == 2 * item) {
      gather_every_second<T>(elements, columns, to + row * width);
      continue;
    }
    if (stride == -item) {
      gather_reversed<T>(elements, columns, to + row * width);
      continue;
    }
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(to + row * width + column, elements + column * stride, sizeof(T));
  }
}

// Calls use(T{}) with an unsigned integer of so many bytes.
template <class Use>
NPU_QUANT_INLINE void visit_item(int64_t item, Use use) {
  if (item == 1) return use(uint8_t{});
  if (item == 2) return use(uint16_t{});
  use(uint32_t{});
}

}  // namespace
}  // namespace npu_quant
