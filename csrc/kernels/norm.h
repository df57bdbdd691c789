// The arithmetic of npu_add_rms_norm_quant (docs/numerics.md 5), a tile at a time.
#pragma once

#include "kernels/add_rms_norm_quant.h"
#include "kernels/piece.h"
#include "simd/codes.h"

namespace npu_quant {
namespace {

// The sum of squares has this shape on every target (docs/numerics.md 5).
constexpr int64_t kSumLanes = 64;
static_assert(kSumLanes % kTile == 0);

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

template <class X>
NPU_QUANT_INLINE Tile added(const typename X::Storage* x1, const typename X::Storage* x2) {
  Tile s = X::load(x1);
  const Tile b = X::load(x2);
  for (int i = 0; i < 4; ++i) s.part[i] += b.part[i];
  return s;
}

// Zeros after the first elements add nothing to a sum.
template <class X>
using PaddedSum = Padded<typename X::Storage, kSumLanes>;

// The first pass over n elements of a row: their sum, x, and its squares. x is null where it is not
// wanted.
template <class X>
__attribute__((noinline)) void add_piece(const typename X::Storage* x1,
                                         const typename X::Storage* x2, typename X::Storage* x,
                                         int64_t n, SumOfSquares& sum, Stores stores) {
  using T = typename X::Storage;
  SumOfSquares squares = sum;
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int64_t tile = 0; tile < kSumLanes / kTile; ++tile) {
      const int64_t at = i + tile * kTile;
      const Tile s = added<X>(x1 + at, x2 + at);
      squares.add(tile, s);
      if (x != nullptr) X::put(x + at, s, stores);
    }
  if (i < n) {
    const PaddedSum<X> a(x1 + i, n - i), b(x2 + i, n - i);
    alignas(64) T end[kSumLanes];
    for (int64_t tile = 0; tile < kSumLanes / kTile; ++tile) {
      const Tile s = added<X>(a.values + tile * kTile, b.values + tile * kTile);
      squares.add(tile, s);
      X::put(end + tile * kTile, s, Stores{false});
    }
    if (x != nullptr) std::memcpy(x + i, end, static_cast<size_t>(n - i) * sizeof(T));
  }
  sum = squares;
}

// A weight as a loop reads it: from(i) are the values of element i and a tile's worth after it.
struct Weight {
  const Unaligned<float>* values;
  int64_t mask;  // 0 where one value serves all

  NPU_QUANT_INLINE const Unaligned<float>* from(int64_t i) const { return values + (i & mask); }
};

enum { kGamma, kBeta, kScales, kZeroPoints, kWeights };

// All weights of an output; a value for all elements is read from a tile of copies.
class Weights {
 public:
  Weights(const AddRmsNormQuantKernel::Args& args,
          const AddRmsNormQuantKernel::Quantizer& quantizer) {
    const Strided all[kWeights] = {args.gamma, args.beta, quantizer.scale, quantizer.zero_point};
    for (int w = 0; w < kWeights; ++w) {
      at[w] = {parameter_at(all[w], 0, 0), -1};
      if (all[w].stride != 0) continue;
      // Adding -0 changes nothing, not even a -0.
      const float one = all[w].data == nullptr ? -0.0f : at[w].values->value;
      for (float& copy : copies_[w]) copy = one;
      at[w] = {unaligned(copies_[w]), 0};
    }
  }
  Weight at[kWeights];

 private:
  alignas(64) float copies_[kWeights][kTile];
};

// The weights of n elements from i on, fewer than a tile, with ones after them.
struct EndOfWeights {
  EndOfWeights(const Weights& weights, int64_t i, int64_t n) {
    for (int w = 0; w < kWeights; ++w) {
      for (int64_t k = n; k < kTile; ++k) values[w][k] = 1;
      std::memcpy(values[w], weights.at[w].from(i), static_cast<size_t>(n) * sizeof(float));
      at[w] = {unaligned(values[w]), 0};
    }
  }
  alignas(64) float values[kWeights][kTile];
  Weight at[kWeights];
};

NPU_QUANT_INLINE F32 part_of(const Unaligned<float>* weights, int part) {
  return load<F32>(weights + part * kLanes);
}

// What sums are multiplied by: one for a row, or one for each element of joined rows.
NPU_QUANT_INLINE F32 part_of(F32 rstd, int) { return rstd; }

// The norm of a tile of sums.
template <class OutType>
struct Norm {
  using Y = OutType;

  template <class Rstd>
  static NPU_QUANT_INLINE Tile of(const Tile& s, Rstd rstd, const Weight* weights, int64_t i) {
    const auto* gamma = weights[kGamma].from(i);
    const auto* beta = weights[kBeta].from(i);
    Tile t;
    for (int p = 0; p < 4; ++p)
      t.part[p] = s.part[p] * part_of(rstd, p) * part_of(gamma, p) + part_of(beta, p);
    return t;
  }
  static NPU_QUANT_INLINE void put(typename Y::Storage* y, const Tile& t, Stores stores) {
    Y::put(y, t, stores);
  }
};

// What becomes codes: norms by scales, plus zero points.
template <class Rstd>
NPU_QUANT_INLINE Tile by_scales(const Tile& s, Rstd rstd, const Weight* weights, int64_t i,
                                bool divide) {
  const auto* scale = weights[kScales].from(i);
  const auto* zero_point = weights[kZeroPoints].from(i);
  Tile q = Norm<Int8>::of(s, rstd, weights, i);
  for (int p = 0; p < 4; ++p) {
    const F32 t = q.part[p];
    const F32 v = divide ? t / part_of(scale, p) : t * part_of(scale, p);
    q.part[p] = v + part_of(zero_point, p);
  }
  return q;
}

// Codes of int8, and of any other format.
template <bool divide>
struct Codes {
  using Y = Int8;

  template <class Rstd>
  static NPU_QUANT_INLINE Tile of(const Tile& s, Rstd rstd, const Weight* weights, int64_t i) {
    return by_scales(s, rstd, weights, i, divide);
  }
  static NPU_QUANT_INLINE void put(int8_t* y, const Tile& q, Stores stores) {
    put_with_zero_for_nan<Y>(y, q, stores);
  }
};
struct SmallCodes {
  using Y = SmallCode;
  Format format;
  bool divide;

  template <class Rstd>
  NPU_QUANT_INLINE Tile of(const Tile& s, Rstd rstd, const Weight* weights, int64_t i) const {
    return by_scales(s, rstd, weights, i, divide);
  }
  NPU_QUANT_INLINE void put(uint8_t* y, const Tile& q, Stores stores) const {
    Y::put(format, y, q, stores);
  }
};

// Calls f with the rule that an output's codes go by.
template <class F>
NPU_QUANT_INLINE void visit_codes(const AddRmsNormQuantKernel::Args& args, F f) {
  if (args.codes != Format::int8) return f(SmallCodes{args.codes, args.divide});
  args.divide ? f(Codes<true>{}) : f(Codes<false>{});
}

}  // namespace
}  // namespace npu_quant
