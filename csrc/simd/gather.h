// Copies of strided elements into contiguous rows, for arrays whose rows are not contiguous in
// memory.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

// Where neighbouring rows lie closer together than neighbouring elements (a transposed array),
// kRowsAtOnce rows are gathered together: they share each cache line that is read.
inline constexpr int64_t kRowsAtOnce = 32;

NPU_QUANT_INLINE bool rows_share_lines(int64_t row_stride, int64_t stride) {
  return (row_stride < 0 ? -row_stride : row_stride) < (stride < 0 ? -stride : stride);
}

// 16 bytes on every target: transposing is bound by loads and stores.
template <class T>
using Quad = Vec<T, 16>;

NPU_QUANT_INLINE Quad<uint8_t> zip_low(Quad<uint8_t> a, Quad<uint8_t> b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
NPU_QUANT_INLINE Quad<uint8_t> zip_high(Quad<uint8_t> a, Quad<uint8_t> b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
NPU_QUANT_INLINE Quad<uint16_t> zip_low(Quad<uint16_t> a, Quad<uint16_t> b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
NPU_QUANT_INLINE Quad<uint16_t> zip_high(Quad<uint16_t> a, Quad<uint16_t> b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
NPU_QUANT_INLINE Quad<uint32_t> zip_low(Quad<uint32_t> a, Quad<uint32_t> b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
NPU_QUANT_INLINE Quad<uint32_t> zip_high(Quad<uint32_t> a, Quad<uint32_t> b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

// The n columns at `from`, `stride` bytes apart, become n rows at `to`, `width` elements apart; n =
// 16 / sizeof(T). Zipping the halves of a square log2(n) times transposes it.
template <class T>
NPU_QUANT_INLINE void transpose_square(const char* from, int64_t stride, T* to, int64_t width) {
  constexpr int n = 16 / sizeof(T);
  Quad<T> v[n], w[n];
  for (int i = 0; i < n; ++i) v[i] = load<Quad<T>>(from + i * stride);
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      w[2 * i] = zip_low(v[i], v[i + n / 2]);
      w[2 * i + 1] = zip_high(v[i], v[i + n / 2]);
    }
    for (int i = 0; i < n; ++i) v[i] = w[i];
  }
  for (int i = 0; i < n; ++i) store(to + i * width, v[i]);
}

// Element (row, column) lies at from + row * row_stride + column * stride; it goes to to[row *
// width + column].
template <class T>
NPU_QUANT_INLINE void gather(const char* from, int64_t row_stride, int64_t stride, int64_t rows,
                             int64_t columns, T* to, int64_t width) {
  constexpr int64_t n = 16 / sizeof(T), item = sizeof(T);
  const bool transposed = row_stride == item || row_stride == -item;
  const int64_t square_rows = transposed ? rows / n * n : 0;
  const int64_t square_columns = transposed ? columns / n * n : 0;
  // Column by column, so that a cache line is used up before the next is read. Where rows run
  // backwards in memory, a square's last row is read first and written upwards.
  const int64_t ahead = row_stride > 0 ? 0 : n - 1;
  const int64_t step = row_stride > 0 ? width : -width;
  for (int64_t column = 0; column < square_columns; column += n)
    for (int64_t row = 0; row < square_rows; row += n)
      transpose_square(from + (row + ahead) * row_stride + column * stride, stride,
                       to + (row + ahead) * width + column, step);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = row < square_rows ? square_columns : 0; column < columns; ++column)
      std::memcpy(to + row * width + column, from + row * row_stride + column * stride, sizeof(T));
}

template <class T>
NPU_QUANT_INLINE void scatter(const T* from, int64_t count, char* to, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * stride, from + i, sizeof(T));
}

}  // namespace
}  // namespace npu_quant
