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

template <int... i>
struct Indices {};
template <int n, int... i>
struct MakeIndices : MakeIndices<n - 1, n - 1, i...> {};
template <int... i>
struct MakeIndices<0, i...> {
  using type = Indices<i...>;
};

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

template <class T, int bytes, int... i>
NPU_QUANT_INLINE Vec<T, bytes> joined(Vec<T, bytes / 2> a, Vec<T, bytes / 2> b, Indices<i...>) {
  return __builtin_shufflevector(a, b, i...);
}
// A vector of 16 bytes from each of several places.
template <class T, int bytes>
NPU_QUANT_INLINE Vec<T, bytes> load_apart(const char* from, int64_t apart) {
  if constexpr (bytes == 16)
    return load<Vec<T, bytes>>(from);
  else
    return joined<T, bytes>(load_apart<T, bytes / 2>(from, apart),
                            load_apart<T, bytes / 2>(from + bytes / 32 * apart, apart),
                            typename MakeIndices<bytes / sizeof(T)>::type{});
}

// The way back: rows of 16 bytes become n lines of `bytes`, and each line is written whole.
template <class T, int bytes>
NPU_QUANT_INLINE void rows_to_lines(const char* from, int64_t from_stride, char* to,
                                    int64_t to_stride) {
  constexpr int n = 16 / sizeof(T);
  Vec<T, bytes> v[n];
  for (int i = 0; i < n; ++i) v[i] = load_apart<T, bytes>(from + i * from_stride, n * from_stride);
  transpose_squares<T, bytes>(v);
  for (int i = 0; i < n; ++i) store(to + i * to_stride, v[i]);
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
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(to + row * width + column, elements + column * stride, sizeof(T));
  }
}

// Copies n bytes to any address: past the caches where `streams`.
NPU_QUANT_INLINE void copy_bytes(const char* from, int64_t n, char* to, bool streams) {
  const auto before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) & (kVectorBytes - 1));
  if (!streams || n < before + kVectorBytes)
    return static_cast<void>(std::memcpy(to, from, static_cast<size_t>(n)));
  if (before > 0) std::memcpy(to, from, static_cast<size_t>(before));
  int64_t i = before;
  for (; i + kVectorBytes <= n; i += kVectorBytes) stream(to + i, load<I8>(from + i));
  if (i < n) std::memcpy(to + i, from + i, static_cast<size_t>(n - i));
}

// Where neighbouring rows are neighbours in memory, this many bytes of a column are written at
// once: single cache lines of columns that lie a power of two apart take twice as long (Zen 4).
inline constexpr int64_t kColumnBytes = 256;

// Asks for the first and the last cache line of a column, which are read where only a part of them
// is written.
NPU_QUANT_INLINE void prefetch_ends(char* to, int64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(to), end = first + static_cast<uintptr_t>(bytes);
  if (first % 64 != 0) prefetch(first);
  if (end % 64 != 0) prefetch(end - 1);
}

// Columns of `rows` elements, which are neighbours: a few at a time pass through a buffer, so that
// they are written as lines.
template <class T>
NPU_QUANT_INLINE void scatter_columns(const char* from, int64_t pitch, int64_t rows,
                                      int64_t columns, char* to, int64_t stride, bool streams) {
  constexpr int64_t n = 16 / sizeof(T), item = sizeof(T), wide = kVectorBytes / item;
  constexpr int64_t kApart = kColumnBytes + 64;  // in other sets of L1
  constexpr int64_t kAhead = 16;                 // columns
  alignas(64) char lines[n * kApart];
  for (int64_t column = 0; column < columns; column += n) {
    const int64_t count = columns - column < n ? columns - column : n;
    const char* const corner = from + column * item;
    int64_t row = 0;
    for (; row + wide <= rows && count == n; row += wide)
      rows_to_lines<T, kVectorBytes>(corner + row * pitch, pitch, lines + row * item, kApart);
    for (; row + n <= rows && count == n; row += n)
      rows_to_lines<T, 16>(corner + row * pitch, pitch, lines + row * item, kApart);
    for (; row < rows; ++row)
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(lines + i * kApart + row * item, corner + row * pitch + i * item, sizeof(T));
    for (int64_t i = 0; i < count; ++i) {
      prefetch_ends(to + (column + i + kAhead) * stride, rows * item);
      copy_bytes(lines + i * kApart, rows * item, to + (column + i) * stride, streams);
    }
  }
}

// The way back: from[row * width + column] goes to to + row * row_stride + column * stride.
template <class T>
__attribute__((noinline)) void scatter(const T* from, int64_t width, int64_t rows, int64_t columns,
                                       char* to, int64_t row_stride, int64_t stride, bool streams) {
  constexpr int64_t item = sizeof(T), kMost = kColumnBytes / item;
  if (row_stride == -item)  // the last row comes first in memory
    return scatter(from + (rows - 1) * width, -width, rows, columns, to - (rows - 1) * item, item,
                   stride, streams);
  if (row_stride == item && stride != item) {
    for (int64_t row = 0; row < rows; row += kMost)
      scatter_columns<T>(reinterpret_cast<const char*>(from + row * width), width * item,
                         rows - row < kMost ? rows - row : kMost, columns, to + row * item, stride,
                         streams);
    return;
  }
  if (rows_share_lines(row_stride, stride)) {
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row)
        std::memcpy(to + row * row_stride + column * stride, from + row * width + column,
                    sizeof(T));
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    char* const elements = to + row * row_stride;
    const T* const values = from + row * width;
    if (stride == item) {
      copy_bytes(reinterpret_cast<const char*>(values), columns * item, elements, streams);
      continue;
    }
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(elements + column * stride, values + column, sizeof(T));
  }
}

}  // namespace
}  // namespace npu_quant
