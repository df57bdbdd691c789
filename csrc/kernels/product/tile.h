// Sums of products, a tile of them in registers: some rows of x times a panel of weights.
//
//   sum[row][column] = sum over k of x[row][k] * weight[column][k]
//
//                    a line of the panel: kVectors vectors, a lane for each column
//        k  ->        [ w w w w | w w w w | ... ]  k, in a lane kDepth of them, one after the other
//   x row 0  x x x x    [ c c c c | c c c c | ... ]  sums of row 0
//   x row 1  x x x x    [ c c c c | c c c c | ... ]  sums of row 1
//            ^ kDepth of them in every lane
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

inline constexpr int kVectors =
    kLanes == 16 ? 4 : 2;  // registers: 6 * 4 + 4 + 1 of 32, or 6 * 2 + 2 + 1 of 16
inline constexpr int kPanel = kVectors * kLanes;  // columns
inline constexpr int kTileRows = 6;
inline constexpr int64_t kBlockOfSums = 32;  // k that are summed in float64

// int8 and int4: exact, in int32.
struct IntegerProducts {
  using Element = CodeElement;  // of simd/vec.h
  using Sum = int32_t;
  static constexpr int kDepth = kCodesPerLane;
  static constexpr int64_t kMostDepth = 256;  // of a panel, 16 KiB of L1

  static NPU_QUANT_INLINE I32 add(I32 c, const Element* a, I32 b) {
    return add_products(c, I32{} + load<int32_t>(a), b);
  }
  static NPU_QUANT_INLINE I32 sum(I32 c, I32 more) { return wrapping_sum(c, more); }
};

// Floats, each product and each sum rounded, or their products are exact: then one instruction may
// do both.
template <bool exact_products>
struct FloatProducts {
  using Element = float;
  using Sum = float;
  static constexpr int kDepth = 1;
  static constexpr int64_t kMostDepth = 128;  // docs/numerics.md 20: of a sum

  static NPU_QUANT_INLINE F32 add(F32 c, const Element* a, F32 b) {
    if constexpr (exact_products && kHasFma) return fma(broadcast(*a), b, c);
    return c + broadcast(*a) * b;
  }
  static NPU_QUANT_INLINE F32 sum(F32 c, F32 more) { return c + more; }
};

// Sums of some k, which go on from those at `to`, if it adds, and begin at start[row] more: of the
// columns that are in the first vectors of a panel.
template <class Products, int rows, int vectors>
__attribute__((noinline)) void multiply_rows(const typename Products::Element* a, int64_t pitch,
                                             const typename Products::Element* b, int64_t depth,
                                             const typename Products::Sum* start, bool adds,
                                             typename Products::Sum* to, int64_t to_pitch) {
  using Lanes = Vec<typename Products::Sum>;
  constexpr int kDepth = Products::kDepth;
  Lanes c[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) {
      c[r][v] = Lanes{} + start[r];
      if (adds) c[r][v] = Products::sum(c[r][v], load<Lanes>(to + r * to_pitch + v * kLanes));
    }
  for (int64_t k = 0; k < depth; k += kDepth, b += kPanel * kDepth) {
    Lanes line[vectors];
    for (int v = 0; v < vectors; ++v) line[v] = load<Lanes>(b + v * kLanes * kDepth);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v)
        c[r][v] = Products::add(c[r][v], a + r * pitch + k, line[v]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) store(to + r * to_pitch + v * kLanes, c[r][v]);
}

// Small floats: blocks of 32 k in float64, where products are exact, rounded to float32.
struct BlockProducts {
  using Element = double;
  using Sum = float;
  static constexpr int kDepth = 1;
  static constexpr int64_t kMostDepth = 64;

  // The sum of products i, i + step, i + 2 * step, ...: k and k + 16 are added first, then k and
  // k + 8, and so on. Of float8_e4m3fn and float4 it is exact in any order.
  template <int i, int step>
  static NPU_QUANT_INLINE F64 tree(const double* a, const double* b) {
    if constexpr (step == kBlockOfSums)
      return (a[i] - F64{}) * load<F64>(b + i * kPanel);
    else
      return tree<i, 2 * step>(a, b) + tree<i + step, 2 * step>(a, b);
  }
};

__attribute__((noinline)) inline void multiply_block(const double* a, const double* b,
                                                     int64_t columns, float* to) {
  for (int64_t i = 0; i < columns; i += kLanes) {
    const F64 low = BlockProducts::tree<0, 1>(a, b + i);
    const F64 high = BlockProducts::tree<0, 1>(a, b + i + kLanes / 2);
    store(to + i, narrow_float64(low, high));
  }
}

// What is computed of a panel of which so many columns are left: one vector, or all.
NPU_QUANT_INLINE int64_t columns_of_tile(int64_t left) { return left > kLanes ? kPanel : kLanes; }

// What multiplies: `rows` is 6, 4, 2 or 1, `columns` what columns_of_tile() says.
template <class Products, int vectors>
NPU_QUANT_INLINE void multiply_tile(int64_t rows, const typename Products::Element* a,
                                    int64_t pitch, const typename Products::Element* b,
                                    int64_t depth, const typename Products::Sum* start, bool adds,
                                    typename Products::Sum* to, int64_t to_pitch) {
  const auto run = [&](auto multiplies) {
    multiplies(a, pitch, b, depth, start, adds, to, to_pitch);
  };
  if (rows == 6) return run(multiply_rows<Products, 6, vectors>);
  if (rows == 4) return run(multiply_rows<Products, 4, vectors>);
  if (rows == 2) return run(multiply_rows<Products, 2, vectors>);
  run(multiply_rows<Products, 1, vectors>);
}
template <class Products>
NPU_QUANT_INLINE void multiply(int64_t rows, int64_t columns, const typename Products::Element* a,
                               int64_t pitch, const typename Products::Element* b, int64_t depth,
                               const typename Products::Sum* start, bool adds,
                               typename Products::Sum* to, int64_t to_pitch) {
  if (columns == kPanel)
    return multiply_tile<Products, kVectors>(rows, a, pitch, b, depth, start, adds, to, to_pitch);
  multiply_tile<Products, 1>(rows, a, pitch, b, depth, start, adds, to, to_pitch);
}
template <>
NPU_QUANT_INLINE void multiply<BlockProducts>(int64_t rows, int64_t columns, const double* a,
                                              int64_t pitch, const double* b, int64_t, const float*,
                                              bool, float* to, int64_t to_pitch) {
  for (int64_t r = 0; r < rows; ++r) multiply_block(a + r * pitch, b, columns, to + r * to_pitch);
}

// How many of the rows that are left a tile has.
NPU_QUANT_INLINE int64_t rows_of_tile(int64_t left) {
  return left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

}  // namespace
}  // namespace npu_quant
