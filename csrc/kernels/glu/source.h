// The source swish(a) * b, of gated linear units (docs/numerics.md 17), a and b the halves of rows:
//   a, b = x, or of integers what these stand for (kernels/elementwise/dequant.h)
//   o    = a / (1 + exp(-alpha * a)) * b     exp correctly rounded; a, b clamped before, where
//                                            asked
//   v    = o * smooth, or o * the row's weight
#pragma once

#include "kernels/elementwise/dequant.h"
#include "kernels/glu/glu.h"
#include "kernels/rows/affine_codes.h"
#include "kernels/rows/values.h"
#include "simd/exp.h"

namespace npu_quant {
namespace {

// The weights of a row: those of the gate, those of the factor, and smooth.
struct GluWeights : Weights<5> {
  enum { kWeightScale, kBias, kOfFactor, kSmoothing = 2 * kOfFactor };

  explicit GluWeights(const GluKernel::Args& args)
      : Weights({&args.gate.weight_scale, &args.gate.bias, &args.factor.weight_scale,
                 &args.factor.bias, &args.smooth}) {
    for (int half = 0; half <= kOfFactor; half += kOfFactor) {
      fill_in(half + kWeightScale, 1);
      fill_in(half + kBias, 0);
    }
    fill_in(kSmoothing, 1);
  }
  GluWeights(const GluWeights& of, int64_t first, int64_t n) : Weights(of.at, first, n) {}
};

// What all integers of a row have in common.
struct RowOfSums {
  float activation_scale;
  Bias bias;
};

// How a half's elements become values.
template <class X>
struct FloatHalf {
  using Storage = typename X::Storage;
  static NPU_QUANT_INLINE Tile load(const Storage* x, const Weight*, int64_t, const RowOfSums&) {
    return X::load(x);
  }
};
struct IntegerHalf {
  using Storage = Unaligned<int32_t>;
  static NPU_QUANT_INLINE Tile load(const Storage* x, const Weight* by, int64_t i,
                                    const RowOfSums& row) {
    if (row.bias == Bias::none) return values<Bias::none>(x, by, i, row);
    if (row.bias == Bias::integer) return values<Bias::integer>(x, by, i, row);
    return values<Bias::real>(x, by, i, row);
  }

 private:
  template <Bias bias>
  static NPU_QUANT_INLINE Tile values(const Storage* x, const Weight* by, int64_t i,
                                      const RowOfSums& row) {
    const F32 activation_scale = broadcast(row.activation_scale);
    Tile v;
    for (int p = 0; p < 4; ++p)
      v.part[p] = dequantized<bias>(npu_quant::load<I32>(x + p * kLanes),
                                    by[GluWeights::kWeightScale].part(i, p), activation_scale,
                                    by[GluWeights::kBias].part(i, p));
    return v;
  }
};

// Of two values; a NaN stays.
struct Gating {
  bool clamps;
  float limit, alpha, bias;

  NPU_QUANT_INLINE F32 operator()(F32 gate, F32 factor) const {
    if (clamps) {
      const F32 most = broadcast(limit);
      gate = gate > most ? most : gate;
      factor = factor > most ? most : factor;
      factor = (factor < -most ? -most : factor) + bias;
    }
    return gate / (1 + exp(-(alpha * gate))) * factor;
  }
};

// Elements [first, first + n) of the halves of a row.
struct GluPiece {
  const char *gate, *factor;
  int64_t first, n;
  RowOfSums row;
  uintptr_t ahead;  // memory is meanwhile asked for what lies so many bytes behind, if it is not 0
};

// Their values to v, which has room for a tile more. What is left after whole tiles is the end of
// one that reaches back over the one before, whose values are the same again; where there is none,
// it is padded.
template <class Half>
__attribute__((noinline)) void fill_glu(const GluPiece& piece_of_call, const Gating& of_call,
                                        const GluWeights& weights, float* v, AmaxFloat32& into) {
  using T = typename Half::Storage;
  const GluPiece piece = piece_of_call;
  const Gating gating = of_call;
  const int64_t n = piece.n;
  AmaxFloat32 amax = into;
  const auto values = [&](const T* a, const T* b, const Weight* by,
                          int64_t i) __attribute__((always_inline)) {
    Tile t = Half::load(a, by, i, piece.row);
    const Tile factor = Half::load(b, by + GluWeights::kOfFactor, i, piece.row);
    for (int p = 0; p < 4; ++p)
      t.part[p] = gating(t.part[p], factor.part[p]) * by[GluWeights::kSmoothing].part(i, p);
    return t;
  };
  const auto* const gate = reinterpret_cast<const T*>(piece.gate);
  const auto* const factor = reinterpret_cast<const T*>(piece.factor);
  if (n < kTile) {
    const Padded<T> a(gate, n), b(factor, n);
    const GluWeights padded(weights, piece.first, n);
    store_tile(v, values(a.values, b.values, padded.at, 0));
    for (int64_t i = n; i < kTile; ++i) v[i] = 0;
    return into.include(Float32<WholeLoads>::load(unaligned(v)));
  }
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t at = least(i, n - kTile);
    if (piece.ahead != 0) {
      prefetch_values(CacheLevel::first, gate + at, piece.ahead, kTile);
      prefetch_values(CacheLevel::first, factor + at, piece.ahead, kTile);
    }
    const Tile t = values(gate + at, factor + at, weights.at, piece.first + at);
    amax.include(t);
    store_tile(v + at, t);
  }
  into = amax;
}

// The rows of a call.
template <class Half>
class GluRows {
 public:
  explicit GluRows(const GluKernel::Args& args)
      : args_(args),
        gating_{args.clamps, args.limit, args.alpha, args.factor_bias},
        weights_(args),
        gate_(args.gate.x, kItem, buffers_[0]),
        factor_(args.factor.x, kItem, buffers_[1]) {}

  // Values [i, i + n) of a row, and a tile after them; includes them in the amax.
  void fill(int64_t row, int64_t i, int64_t n, float* v, AmaxFloat32& amax) {
    for (int64_t end = i + n; i < end; i += kPiece, v += kPiece) {
      const int64_t count = least(end - i, kPiece);
      gate_.fetch(row, 1, i, count, count);
      factor_.fetch(row, 1, i, count, count);
      const RowOfSums of_row{activation_scale(row), args_.bias_kind};
      if (args_.weight.data != nullptr)
        weights_.spread(GluWeights::kSmoothing, parameter_at(args_.weight, row, 0)->value);
      fill_glu<Half>({gate_.at(row, i), factor_.at(row, i), i, count, of_row, ahead()}, gating_,
                     weights_, v, amax);
    }
  }

 private:
  static constexpr int64_t kItem = sizeof(typename Half::Storage);

  // To the next row, where rows come from memory and are read there.
  uintptr_t ahead() const {
    const bool asks = args_.stream && gate_.is_direct() && factor_.is_direct();
    return asks ? static_cast<uintptr_t>(args_.gate.x.row_stride) : 0;
  }
  float activation_scale(int64_t row) const {
    const Strided& scale = args_.activation_scale;
    return scale.data == nullptr ? 1 : parameter_at(scale, row, 0)->value;
  }

  const GluKernel::Args& args_;
  Gating gating_;
  GluWeights weights_;
  Source gate_, factor_;
  Buffer<kPiece * kItem> buffers_[2];
};

}  // namespace
}  // namespace npu_quant
