// The source norm(x1) or norm(x1 + x2), of RMS norms (docs/numerics.md 5):
//   s = x1 + x2     x = s rounded     rstd = 1 / sqrt(mean(s * s) + epsilon)
//   t = s * rstd * gamma + beta       v = t, or t * smooth
#pragma once

#include "kernels/norm/rms_norm.h"
#include "kernels/rows/affine_codes.h"
#include "kernels/rows/values.h"

namespace npu_quant {
namespace {

using Kernel = RmsNormKernel;
using Args = Kernel::Args;

// The sum of squares has this shape on every target (docs/numerics.md 5).
constexpr int64_t kSumLanes = 64;
static_assert(kSumLanes % kTile == 0 && kPiece % kSumLanes == 0);

// Lane j adds elements j, j + 64, j + 128, ... in that order; then halves are added. The elements
// come, and the lanes lie, in X's order.
struct SumOfSquares {
  Tile tiles[kSumLanes / kTile];

  NPU_QUANT_INLINE void add(int64_t tile, const Tile& s) {
    for (int i = 0; i < 4; ++i) tiles[tile].part[i] += s.part[i] * s.part[i];
  }
  template <class X>
  NPU_QUANT_INLINE float value() const {
    Tile lanes[kSumLanes / kTile];
    for (int64_t t = 0; t < kSumLanes / kTile; ++t) lanes[t] = X::unmixed(tiles[t]);
    return sum_of_lanes<float, kSumLanes>(lanes);
  }
};

NPU_QUANT_INLINE float rstd_of(float sum, int64_t n, float epsilon) {
  const float mean = sum / static_cast<float>(n);
  return 1 / __builtin_sqrtf(mean + epsilon);
}

// What is normed, in X's order: x1, or x1 + x2, of some rows. A row lies so many bytes behind the
// one before.
template <class X>
struct Sums {
  using T = typename X::Storage;
  const char *x1, *x2;  // x2 is null where nothing is added
  int64_t row_stride1 = 0, row_stride2 = 0;

  NPU_QUANT_INLINE const T* of_x1(int64_t row, int64_t i) const {
    return reinterpret_cast<const T*>(x1 + row * row_stride1) + i;
  }
  NPU_QUANT_INLINE const T* of_x2(int64_t row, int64_t i) const {
    return reinterpret_cast<const T*>(x2 + row * row_stride2) + i;
  }
  NPU_QUANT_INLINE Tile at(int64_t row, int64_t i) const {
    Tile s = X::load_mixed(of_x1(row, i));
    if (x2 == nullptr) return s;
    const Tile b = X::load_mixed(of_x2(row, i));
    for (int p = 0; p < 4; ++p) s.part[p] += b.part[p];
    return s;
  }
};

// Elements [i, i + n) of a row of them, fewer than kSumLanes, with zeros after them, which add
// nothing to a sum.
template <class X>
struct PaddedSums {
  using T = typename X::Storage;

  NPU_QUANT_INLINE PaddedSums(const Sums<X>& sums, int64_t row, int64_t i, int64_t n)
      : adds_(sums.x2 != nullptr),
        x1_(sums.of_x1(row, i), n),
        x2_(adds_ ? sums.of_x2(row, i) : sums.of_x1(row, i), adds_ ? n : 0) {}
  NPU_QUANT_INLINE Tile at(int64_t i) const {
    const auto bytes = [](const T* values) { return reinterpret_cast<const char*>(values); };
    return Sums<X>{bytes(x1_.values), adds_ ? bytes(x2_.values) : nullptr}.at(0, i);
  }

 private:
  const bool adds_;
  const Padded<T, kSumLanes> x1_, x2_;
};

// The first pass over n elements of a row: their sums, as x where that is not null, and the squares
// of these.
template <class X>
__attribute__((noinline)) void add_piece(const Sums<X>& of_call, typename X::Storage* x, int64_t n,
                                         SumOfSquares& sum, Stores stores) {
  const Sums<X> sums = of_call;
  SumOfSquares squares = sum;
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int64_t tile = 0; tile < kSumLanes / kTile; ++tile) {
      const Tile s = sums.at(0, i + tile * kTile);
      squares.add(tile, s);
      if (x != nullptr) X::put_mixed(x + i + tile * kTile, s, stores);
    }
  if (i < n) {
    const PaddedSums<X> rest(sums, 0, i, n - i);
    alignas(64) typename X::Storage end[kSumLanes];
    for (int64_t tile = 0; tile < kSumLanes / kTile; ++tile) {
      const Tile s = rest.at(tile * kTile);
      squares.add(tile, s);
      X::put_mixed(end + tile * kTile, s, Stores{false});
    }
    if (x != nullptr) std::memcpy(x + i, end, static_cast<size_t>(n - i) * sizeof *end);
  }
  sum = squares;
}

// The weights of a norm and of the codes of an output.
enum { kGamma = kAffineWeights, kBeta, kSmooth, kNormWeights };
using NormWeights = Weights<kNormWeights>;

NPU_QUANT_INLINE NormWeights weights_of(const Args& args, int output) {
  const Kernel::Quantizer& by = args.quantizers[output];
  return NormWeights(
      {&by.scale, &by.zero_point, &by.factor, &by.offset, &args.gamma, &args.beta, &by.smooth});
}
NPU_QUANT_INLINE Affine affine_of(const Args& args, int output) {
  return {args.codes, args.divide, args.quantizers[output].offset.data != nullptr};
}

NPU_QUANT_INLINE void store_rstd(const Args& args, int64_t row, float rstd) {
  store_scale(args.tensors[Kernel::kRstd], row, 0, rstd == rstd ? rstd : __builtin_nanf(""));
}

// The values of the tiles at an element of all rows: the weights are in registers.
template <class X, bool mixed>
struct Normed {
  Tile gamma, beta, smooth;
  bool adds_beta, smooths;

  NPU_QUANT_INLINE Normed(const Weight* by, int64_t i)
      : gamma(in_order(by[kGamma].tile(i))),
        adds_beta(by[kBeta].values != nullptr),
        smooths(by[kSmooth].values != nullptr) {
    if (adds_beta) beta = in_order(by[kBeta].tile(i));
    if (smooths) smooth = in_order(by[kSmooth].tile(i));
  }
  NPU_QUANT_INLINE Tile of(const Tile& sums, float row_rstd) const {
    const F32 rstd = broadcast(row_rstd);
    Tile v = mixed ? sums : X::unmixed(sums);
    for (int p = 0; p < 4; ++p) v.part[p] = v.part[p] * rstd * gamma.part[p];
    if (adds_beta)
      for (int p = 0; p < 4; ++p) v.part[p] += beta.part[p];
    if (smooths)
      for (int p = 0; p < 4; ++p) v.part[p] *= smooth.part[p];
    return v;
  }

 private:
  static NPU_QUANT_INLINE Tile in_order(const Tile& v) { return mixed ? X::mixed(v) : v; }
};

// Elements [first, first + n) of some rows.
template <class X>
struct NormedPiece {
  Sums<X> sums;
  uintptr_t ahead1, ahead2;  // memory is meanwhile asked for what lies so many bytes behind x1, x2
  int64_t first, n;
  const float* rstd;
  int64_t rows;

  NPU_QUANT_INLINE void ask_for_next(int64_t row, int64_t i) const {
    if (ahead1 != 0) prefetch_values(CacheLevel::first, sums.of_x1(row, i), ahead1, kTile);
    if (ahead2 != 0) prefetch_values(CacheLevel::first, sums.of_x2(row, i), ahead2, kTile);
  }
};

// Of elements [i, n), fewer than a tile.
template <class X, class To>
NPU_QUANT_INLINE void norm_end(const NormedPiece<X>& piece, const NormWeights& weights, To& to,
                               int64_t i) {
  const int64_t n = piece.n;
  const auto put_part = [&](const Weight* by, int64_t first_weight, int64_t first, auto sums_of) {
    const Normed<X, To::kMixed> norm(by, first_weight);
    const auto codes = to.at(by, first_weight);
    for (int64_t row = 0; row < piece.rows; ++row)
      to.put_part(row, first, i, n, codes, norm.of(sums_of(row), piece.rstd[row]));
  };
  if (const int64_t first = n - kTile; first >= 0)
    return put_part(weights.at, piece.first + first, first,
                    [&](int64_t row) { return piece.sums.at(row, first); });
  const NormWeights padded(weights.at, piece.first, n);
  put_part(padded.at, 0, 0,
           [&](int64_t row) { return PaddedSums<X>(piece.sums, row, 0, n).at(0); });
}

// Values of a piece to where `to` puts them, which is returned, in tiles. What is left after them
// is part of a tile that reaches back. All rows have their turn at a tile before the next, and its
// weights are read once for them: of 200 elements in tiles of 64
//
//           0 .. 63   64 .. 127   128 .. 191   136 .. 199, of which 192 .. 199 are put
//   row 0      1          5            9          13
//   row 1      2          6           10          14
//   row 2      3          7           11          15
//   row 3      4          8           12          16
template <class X, class To>
__attribute__((noinline)) To norm_piece(const NormedPiece<X>& piece_of_call,
                                        const NormWeights& weights, To to) {
  const NormedPiece<X> piece = piece_of_call;
  const int64_t n = piece.n;
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) {
    const Normed<X, To::kMixed> norm(weights.at, piece.first + i);
    const auto codes = to.at(weights.at, piece.first + i);
    for (int64_t row = 0; row < (To::kIsOneRow ? 1 : piece.rows); ++row) {
      piece.ask_for_next(row, i);
      to.put(row, i, codes, norm.of(piece.sums.at(row, i), piece.rstd[row]));
    }
  }
  if (i < n) norm_end(piece, weights, to, i);
  return to;
}

// What becomes of a row's tiles: values in L1, which have room for a tile more, and their amax.
struct ToValues {
  static constexpr bool kMixed = false, kIsOneRow = true;
  struct Nothing {};
  float* v;
  AmaxFloat32 amax;

  NPU_QUANT_INLINE Nothing at(const Weight*, int64_t) const { return {}; }
  NPU_QUANT_INLINE void put(int64_t, int64_t i, Nothing, const Tile& t) {
    store_tile(v + i, t);
    amax.include(t);
  }
  // What was padded becomes zeros, which are in no amax.
  NPU_QUANT_INLINE void put_part(int64_t, int64_t first, int64_t, int64_t end, Nothing,
                                 const Tile& t) {
    store_tile(v + first, t);
    for (int64_t i = end; i < first + kTile; ++i) v[i] = 0;
    amax.include(Float32<WholeLoads>::load(unaligned(v + first)));
  }
};

// The same as X: of pieces of rows, the first of which begins at y.
template <class X>
struct ToNorm {
  using T = typename X::Storage;
  static constexpr bool kMixed = X::kMixes, kIsOneRow = false;
  struct Nothing {};
  char* y;
  int64_t row_stride;
  Stores stores;

  NPU_QUANT_INLINE T* element(int64_t row, int64_t i) const {
    return reinterpret_cast<T*>(y + row * row_stride) + i;
  }
  NPU_QUANT_INLINE Nothing at(const Weight*, int64_t) const { return {}; }
  NPU_QUANT_INLINE void put(int64_t row, int64_t i, Nothing, const Tile& t) const {
    X::put_mixed(element(row, i), t, stores);
  }
  // Elements [i, end) of the tile at `first`.
  NPU_QUANT_INLINE void put_part(int64_t row, int64_t first, int64_t i, int64_t end, Nothing,
                                 const Tile& t) const {
    alignas(64) T tile[kTile];
    X::put_mixed(tile, t, Stores{false});
    std::memcpy(element(row, i), tile + (i - first), static_cast<size_t>(end - i) * sizeof *tile);
  }
};

}  // namespace
}  // namespace npu_quant
