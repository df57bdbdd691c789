// The source norm(x1) or norm(x1 + x2), of RMS norms (docs/numerics.md 5):
//   s = x1 + x2     x = s rounded     rstd = 1 / sqrt(mean(s * s) + epsilon)
//   t = s * rstd * gamma + beta       v = t, or t * smooth
#pragma once

#include "kernels/rms_norm.h"
#include "kernels/values.h"

namespace npu_quant {
namespace {

// The sum of squares has this shape on every target (docs/numerics.md 5).
constexpr int64_t kSumLanes = 64;
static_assert(kSumLanes % kTile == 0 && kPiece % kSumLanes == 0);

// Lane j adds elements j, j + 64, j + 128, ... in that order; then halves are added.
struct SumOfSquares {
  F32 lanes[kSumLanes / kLanes];

  NPU_QUANT_INLINE void clear() {
    for (F32& lane : lanes) lane = F32{};
  }
  NPU_QUANT_INLINE void add(int64_t tile, const Tile& s) {
    for (int i = 0; i < 4; ++i) lanes[tile * 4 + i] += s.part[i] * s.part[i];
  }
  NPU_QUANT_INLINE float value() const { return sum_of_lanes<float, kSumLanes>(lanes); }
};

NPU_QUANT_INLINE float rstd_of(float sum, int64_t n, float epsilon) {
  const float mean = sum / static_cast<float>(n);
  return 1 / __builtin_sqrtf(mean + epsilon);
}

// What is normed: x1, or x1 + x2.
template <class X>
struct Sums {
  using T = typename X::Storage;
  const T *x1, *x2;  // x2 is null where nothing is added

  NPU_QUANT_INLINE Tile at(int64_t i) const {
    Tile s = X::load(x1 + i);
    if (x2 == nullptr) return s;
    const Tile b = X::load(x2 + i);
    for (int p = 0; p < 4; ++p) s.part[p] += b.part[p];
    return s;
  }
};

// Elements [i, i + n) of them, fewer than kSumLanes, with zeros after them, which add nothing to a
// sum.
template <class X>
struct PaddedSums {
  using T = typename X::Storage;

  NPU_QUANT_INLINE PaddedSums(const Sums<X>& sums, int64_t i, int64_t n)
      : adds_(sums.x2 != nullptr),
        x1_(sums.x1 + i, n),
        x2_(adds_ ? sums.x2 + i : sums.x1, adds_ ? n : 0) {}
  NPU_QUANT_INLINE Tile at(int64_t i) const {
    return Sums<X>{x1_.values, adds_ ? x2_.values : nullptr}.at(i);
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
      const Tile s = sums.at(i + tile * kTile);
      squares.add(tile, s);
      if (x != nullptr) X::put(x + i + tile * kTile, s, stores);
    }
  if (i < n) {
    const PaddedSums<X> rest(sums, i, n - i);
    alignas(64) typename X::Storage end[kSumLanes];
    for (int64_t tile = 0; tile < kSumLanes / kTile; ++tile) {
      const Tile s = rest.at(tile * kTile);
      squares.add(tile, s);
      X::put(end + tile * kTile, s, Stores{false});
    }
    if (x != nullptr) std::memcpy(x + i, end, static_cast<size_t>(n - i) * sizeof *end);
  }
  sum = squares;
}

// A weight as a loop reads it: from(i) are the values of element i and a tile's worth after it.
struct Weight {
  const Unaligned<float>* values;
  int64_t mask;  // 0 where one value serves all

  NPU_QUANT_INLINE const Unaligned<float>* from(int64_t i) const { return values + (i & mask); }
};

enum { kGamma, kBeta, kWeights };

// The weights of a norm; a value for all elements is read from a tile of copies.
class Weights {
 public:
  explicit Weights(const RmsNormKernel::Args& args) {
    const Strided all[kWeights] = {args.gamma, args.beta};
    for (int w = 0; w < kWeights; ++w) {
      at[w] = {parameter_at(all[w], 0, 0), -1};
      if (all[w].stride != 0) continue;
      // Adding -0 changes nothing, not even a -0.
      const float one = all[w].data == nullptr ? -0.0f : at[w].values->value;
      for (float& copy : copies_[w]) copy = one;
      at[w] = {unaligned(copies_[w]), 0};
    }
  }
  Weights(const Weights&) = delete;

  Weight at[kWeights];

 private:
  alignas(64) float copies_[kWeights][kTile];
};

// Elements [first, first + n) of a row.
template <class X>
struct NormedPiece {
  Sums<X> sums;
  Sums<X> next;  // what to ask memory for meanwhile, or null
  int64_t first, n;
};

// The norm of a tile of sums.
NPU_QUANT_INLINE Tile norm_of(const Tile& s, F32 rstd, const Weight* weights, int64_t i) {
  const auto part_of = [&](int w, int p) __attribute__((always_inline)) {
    return load<F32>(weights[w].from(i) + p * kLanes);
  };
  Tile t;
  for (int p = 0; p < 4; ++p) t.part[p] = s.part[p] * rstd * part_of(kGamma, p) + part_of(kBeta, p);
  return t;
}

// What becomes of tiles: values in L1, which have room for a tile more.
struct ToValues {
  float* v;
  const Unaligned<float>* smooth;  // of the piece's elements, or null

  NPU_QUANT_INLINE void put(int64_t i, const Tile& t) const {
    for (int p = 0; p < 4; ++p)
      store(v + i + p * kLanes,
            smooth != nullptr ? t.part[p] * load<F32>(smooth + i + p * kLanes) : t.part[p]);
  }
  NPU_QUANT_INLINE void put_part(int64_t first, int64_t, int64_t, const Tile& t) const {
    put(first, t);
  }
};

// Norms of a piece to where `to` puts them: tiles, and then what is left, part of a tile that
// reaches back.
template <class X, class To>
__attribute__((noinline)) void norm_piece(const NormedPiece<X>& piece_of_call, float row_rstd,
                                          const Weights& weights, const To& to_of_call) {
  const NormedPiece<X> piece = piece_of_call;
  const To to = to_of_call;
  const F32 rstd = broadcast(row_rstd);
  const Weight at[kWeights] = {weights.at[0], weights.at[1]};
  const int64_t n = piece.n;
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) {
    if (piece.next.x1 != nullptr) {
      prefetch_values(CacheLevel::first, piece.next.x1 + i, 0, kTile);
      if (piece.next.x2 != nullptr) prefetch_values(CacheLevel::first, piece.next.x2 + i, 0, kTile);
    }
    to.put(i, norm_of(piece.sums.at(i), rstd, at, piece.first + i));
  }
  if (i == n) return;
  const int64_t first = n - kTile;
  if (first >= 0)
    return to.put_part(first, i, n, norm_of(piece.sums.at(first), rstd, at, piece.first + first));
  alignas(64) float values[kWeights][kTile] = {};
  Weight padded[kWeights];
  for (int w = 0; w < kWeights; ++w) {
    std::memcpy(values[w], at[w].from(piece.first), static_cast<size_t>(n) * sizeof(float));
    padded[w] = {unaligned(values[w]), 0};
  }
  to.put_part(0, 0, n, norm_of(PaddedSums<X>(piece.sums, 0, n).at(0), rstd, padded, 0));
}

// n values as X, and those alone.
template <class X>
__attribute__((noinline)) void put_values(const float* v, int64_t n, typename X::Storage* to) {
  for (int64_t i = 0; i < n; i += kTile) {
    alignas(64) typename X::Storage tile[kTile];
    X::put(tile, Float32<WholeLoads>::load(unaligned(v + i)), Stores{false});
    std::memcpy(to + i, tile, static_cast<size_t>(least(n - i, kTile)) * sizeof *tile);
  }
}

}  // namespace
}  // namespace npu_quant
