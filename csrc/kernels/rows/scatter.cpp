#include "kernels/rows/scatter.h"

#include "simd/gather.h"

namespace npu_quant {
namespace {

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

// Rows of 16 bytes become n lines of `bytes`, and each line is written whole.
template <class T, int bytes>
NPU_QUANT_INLINE void rows_to_lines(const char* from, int64_t from_stride, char* to,
                                    int64_t to_stride) {
  constexpr int n = 16 / sizeof(T);
  Vec<T, bytes> v[n];
  for (int i = 0; i < n; ++i) v[i] = load_apart<T, bytes>(from + i * from_stride, n * from_stride);
  transpose_squares<T, bytes>(v);
  for (int i = 0; i < n; ++i) store(to + i * to_stride, v[i]);
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

// from[row * width + column] goes to to + row * row_stride + column * stride.
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

template <>
void ScatterKernel::run<kTarget>(const Args& args) {
  const auto as = [&](auto bits) {
    scatter(reinterpret_cast<const decltype(bits)*>(args.from), args.width, args.rows, args.columns,
            args.to.data, args.to.row_stride, args.to.stride, args.stream);
  };
  args.item == 8 ? as(uint64_t{}) : visit_item(args.item, as);
}

}  // namespace npu_quant
