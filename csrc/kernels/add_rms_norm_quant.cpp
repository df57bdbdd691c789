// npu_add_rms_norm_quant (docs/numerics.md 5):
//   s = x1 + x2     x = s rounded     rstd = 1 / sqrt(mean(s * s) + epsilon)
//   t = s * rstd * gamma + beta       y = rint(t / scale + zero_point), or t * scale; NaN gives 0
#include "kernels/add_rms_norm_quant.h"

#include "kernels/row_pieces.h"

namespace npu_quant {
namespace {

using Kernel = AddRmsNormQuantKernel;
using Args = Kernel::Args;

// The second pass goes through so many rows together, in pieces of so many elements, for which the
// weights are then in the first-level cache; fewer rows where the second level does not hold them
// and those to come.
constexpr int64_t kRowsInTurn = 4;
constexpr int64_t kBytesTogether = 256 << 10;
// The sum of squares has this shape on every target (docs/numerics.md 5).
constexpr int64_t kSumLanes = 64;
static_assert(kSumLanes % kTile == 0 && kElementsTogether % kSumLanes == 0 &&
              kPiece % kSumLanes == 0 && kElementsTogether <= kPiece);

// Lane j adds elements j, j + 64, j + 128, ... in that order; then halves are added.
struct SumOfSquares {
  F32 lanes[kSumLanes / kLanes] = {};

  NPU_QUANT_INLINE void add(int64_t tile, const Tile& s) {
    for (int i = 0; i < 4; ++i) lanes[tile * 4 + i] += s.part[i] * s.part[i];
  }
  NPU_QUANT_INLINE float value() const {
    alignas(64) float lane[kSumLanes];
    std::memcpy(lane, lanes, sizeof lane);
    for (int64_t half = kSumLanes / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half; ++j) lane[j] += lane[j + half];
    return lane[0];
  }
};

template <class X>
NPU_QUANT_INLINE Tile added(const typename X::Storage* x1, const typename X::Storage* x2) {
  Tile s = X::load(x1);
  const Tile b = X::load(x2);
  for (int i = 0; i < 4; ++i) s.part[i] += b.part[i];
  return s;
}

// The first n elements, with zeros up to kSumLanes: they add nothing to a sum.
template <class X>
struct Padded {
  using T = typename X::Storage;
  alignas(64) T values[kSumLanes] = {};

  Padded(const T* from, int64_t n) {
    std::memcpy(values, from, static_cast<size_t>(n) * sizeof(T));
  }
};

// The first pass over n elements of a row: their sum, x, and its squares. x is null where it is not
// wanted.
template <class X, class Store>
void add_piece(const typename X::Storage* x1, const typename X::Storage* x2, typename X::Storage* x,
               int64_t n, SumOfSquares& sum) {
  using T = typename X::Storage;
  SumOfSquares squares = sum;
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int64_t tile = 0; tile < kSumLanes / kTile; ++tile) {
      const int64_t at = i + tile * kTile;
      const Tile s = added<X>(x1 + at, x2 + at);
      squares.add(tile, s);
      if (x != nullptr) X::template put<Store>(x + at, s);
    }
  if (i < n) {
    const Padded<X> a(x1 + i, n - i), b(x2 + i, n - i);
    alignas(64) T end[kSumLanes];
    for (int64_t tile = 0; tile < kSumLanes / kTile; ++tile) {
      const Tile s = added<X>(a.values + tile * kTile, b.values + tile * kTile);
      squares.add(tile, s);
      X::template put<KeepInCache>(end + tile * kTile, s);
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

enum { kGamma, kBeta, kScale, kZeroPoint, kWeights };

// All weights of an output; a value for all elements is read from a tile of copies.
class Weights {
 public:
  Weights(const Args& args, const Kernel::Quantizer& quantizer) {
    const Kernel::Weight all[kWeights] = {args.gamma, args.beta, quantizer.scale,
                                          quantizer.zero_point};
    for (int w = 0; w < kWeights; ++w) {
      const auto* values = reinterpret_cast<const Unaligned<float>*>(all[w].values);
      at[w] = {values, -1};
      if (!all[w].is_one) continue;
      // Adding -0 changes nothing, not even a -0.
      for (float& copy : copies_[w]) copy = values == nullptr ? -0.0f : values->value;
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

// The norm of a tile of sums.
template <class X>
struct Norm {
  using Elements = X;

  static NPU_QUANT_INLINE Tile of(const Tile& s, F32 rstd, const Weight* weights, int64_t i) {
    const auto* gamma = weights[kGamma].from(i);
    const auto* beta = weights[kBeta].from(i);
    Tile t;
    for (int p = 0; p < 4; ++p) t.part[p] = s.part[p] * rstd * part_of(gamma, p) + part_of(beta, p);
    return t;
  }
  template <class Store>
  static NPU_QUANT_INLINE void put(typename X::Storage* y, const Tile& t) {
    X::template put<Store>(y, t);
  }
};

// Its codes.
template <class X, bool divide>
struct Codes {
  using Elements = Int8Elements;

  static NPU_QUANT_INLINE Tile of(const Tile& s, F32 rstd, const Weight* weights, int64_t i) {
    const auto* scale = weights[kScale].from(i);
    const auto* zero_point = weights[kZeroPoint].from(i);
    Tile q = Norm<X>::of(s, rstd, weights, i);
    for (int p = 0; p < 4; ++p) {
      const F32 t = q.part[p];
      const F32 v = divide ? t / part_of(scale, p) : t * part_of(scale, p);
      q.part[p] = v + part_of(zero_point, p);
    }
    return q;
  }
  template <class Store>
  static NPU_QUANT_INLINE void put(int8_t* y, const Tile& q) {
    put_with_zero_for_nan<Int8Elements, Store>(y, q);
  }
};

// Elements [first, first + n) of a row in the second pass.
template <class X, class Y>
struct NormedPiece {
  const typename X::Storage *x1, *x2;
  const typename X::Storage *next1, *next2;  // what to ask memory for meanwhile, or null
  typename Y::Storage* y;
  int64_t first, n;
  int64_t readable;  // elements of x1 and x2, n or more
};

template <class X, class Store, class Rule>
void norm_piece(const NormedPiece<X, typename Rule::Elements>& piece, float row_rstd,
                const Weights& weights) {
  constexpr int64_t kPerLine = 64 / static_cast<int64_t>(sizeof(*piece.x1));
  const auto [x1, x2, next1, next2, y, first, n, readable] = piece;
  const F32 rstd = broadcast(row_rstd);
  const Weight at[kWeights] = {weights.at[0], weights.at[1], weights.at[2], weights.at[3]};
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) {
    if (next1 != nullptr)
      for (int64_t line = i; line < i + kTile; line += kPerLine) {
        prefetch(next1 + line);
        prefetch(next2 + line);
      }
    Rule::template put<Store>(y + i, Rule::of(added<X>(x1 + i, x2 + i), rstd, at, first + i));
  }
  if (i == n) return;
  // The rest is part of a tile that can be read, or is padded to one.
  typename Rule::Elements::Storage end[kTile];
  const auto bytes = static_cast<size_t>(n - i) * sizeof *end;
  const int64_t start = n > kTile ? n - kTile : 0;
  if (start + kTile <= readable) {
    const Tile s = added<X>(x1 + start, x2 + start);
    Rule::template put<KeepInCache>(end, Rule::of(s, rstd, at, first + start));
    std::memcpy(y + i, end + i - start, bytes);
  } else {
    const Padded<X> a(x1 + i, n - i), b(x2 + i, n - i);
    const EndOfWeights end_weights(weights, first + i, n - i);
    const Tile s = added<X>(a.values, b.values);
    Rule::template put<KeepInCache>(end, Rule::of(s, rstd, end_weights.at, 0));
    std::memcpy(y + i, end, bytes);
  }
}

template <class X, bool divide>
class RowNorm {
 public:
  explicit RowNorm(const Args& args)
      : args_(args),
        x1_(rows_of<X>(Kernel::kX1)),
        x2_(rows_of<X>(Kernel::kX2)),
        x_(rows_of<X>(Kernel::kX)),
        norm_(rows_of<X>(Kernel::kRmsNorm)),
        y_{rows_of<Int8Elements>(Kernel::kY1), rows_of<Int8Elements>(Kernel::kY2)},
        weights_{{args, args.quantizers[0]}, {args, args.quantizers[1]}},
        streams_x_(streams(x_)),
        streams_y_{args.stream && y_[0].is_direct(), args.stream && y_[1].is_direct()},
        epsilon_(static_cast<float>(args.epsilon)) {}

  void run() {
    const int64_t fitting = kBytesTogether / (args_.n * 2 * static_cast<int64_t>(sizeof(T)));
    const int64_t together = fitting > kRowsInTurn ? kRowsInTurn : fitting < 1 ? 1 : fitting;
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together);
      const int64_t next = row + together < args_.rows ? together : 0;
      float rstd[kRowsInTurn];
      for (int64_t r = 0; r < rows; ++r) rstd[r] = reciprocal_norm(row + r);
      for (int64_t i = 0; i < args_.n + kElementsTogether; i += kElementsTogether)
        for (int o = 0; o < 2; ++o)
          for (int64_t r = row; r < row + rows && y_[o].is_wanted(); ++r)
            encode(r, least(r + next, args_.rows - 1), i, o, rstd[r - row]);
      for (int64_t r = 0; r < rows && norm_.is_wanted(); ++r) write_norm(row + r, rstd[r]);
    }
    if (args_.stream) stream_fence();
  }

 private:
  using T = typename X::Storage;

  template <class Elements>
  RowPieces<Elements, Kernel::kTensors> rows_of(int tensor) const {
    return {args_.data[tensor], args_.row_strides[tensor], *args_.row, tensor};
  }

  template <class Pieces>
  bool streams(Pieces& pieces) const {
    if (!args_.stream) return false;
    if (pieces.is_contiguous_at_vectors()) return true;
    pieces.stream_from_buffer();
    return false;
  }

  float reciprocal_norm(int64_t row) {
    SumOfSquares squares;
    for (int64_t i = 0; i < args_.n; i += kPiece) {
      const int64_t count = least(args_.n - i, kPiece);
      T* const x = x_.is_wanted() ? x_.begin_write(row, i) : nullptr;
      const T *x1 = x1_.read(row, i, count), *x2 = x2_.read(row, i, count);
      if (streams_x_)
        add_piece<X, StreamToMemory>(x1, x2, x, count, squares);
      else
        add_piece<X, KeepInCache>(x1, x2, x, count, squares);
      x_.end_write(row, i, count);
    }
    const float mean = squares.value() / static_cast<float>(args_.n);
    return 1 / __builtin_sqrtf(mean + epsilon_);
  }

  // Codes [i, i + kElementsTogether) of a row, or as many earlier ones as make a streamed y begin
  // at a vector.
  void encode(int64_t row, int64_t next_row, int64_t i, int o, float rstd) {
    int64_t early = 0;
    if (streams_y_[o]) {
      const int64_t head = elements_to_alignment(y_[o].in_place(row, 0), kElementsTogether);
      early = head == 0 ? 0 : kElementsTogether - head;
    }
    const int64_t begin = i > early ? i - early : 0;
    const int64_t count = least(args_.n, i + kElementsTogether - early) - begin;
    if (count <= 0) return;
    int8_t* const y = y_[o].begin_write(row, begin);
    if (args_.quantizers[o].scale.values == nullptr)
      std::memset(y, 0, static_cast<size_t>(count));
    else
      encode_to(y, row, next_row, begin, count, o, rstd);
    y_[o].end_write(row, begin, count);
  }

  void encode_to(int8_t* y, int64_t row, int64_t next_row, int64_t i, int64_t count, int o,
                 float rstd) {
    const bool direct = x1_.is_direct() && x2_.is_direct(), asks = args_.stream && direct;
    const NormedPiece<X, Int8Elements> piece{x1_.read(row, i, count),
                                             x2_.read(row, i, count),
                                             asks ? x1_.in_place(next_row, i) : nullptr,
                                             asks ? x2_.in_place(next_row, i) : nullptr,
                                             y,
                                             i,
                                             count,
                                             direct ? args_.n - i : count};
    if (streams_y_[o])
      norm_piece<X, StreamToMemory, Codes<X, divide>>(piece, rstd, weights_[o]);
    else
      norm_piece<X, KeepInCache, Codes<X, divide>>(piece, rstd, weights_[o]);
  }

  void write_norm(int64_t row, float rstd) {
    const bool direct = x1_.is_direct() && x2_.is_direct();
    for (int64_t i = 0; i < args_.n; i += kPiece) {
      const int64_t count = least(args_.n - i, kPiece);
      const NormedPiece<X, X> piece{x1_.read(row, i, count),
                                    x2_.read(row, i, count),
                                    nullptr,
                                    nullptr,
                                    norm_.begin_write(row, i),
                                    i,
                                    count,
                                    direct ? args_.n - i : count};
      norm_piece<X, KeepInCache, Norm<X>>(piece, rstd, weights_[0]);
      norm_.end_write(row, i, count);
    }
  }

  const Args& args_;
  RowPieces<X, Kernel::kTensors> x1_, x2_, x_, norm_;
  RowPieces<Int8Elements, Kernel::kTensors> y_[2];
  Weights weights_[2];
  bool streams_x_, streams_y_[2];
  float epsilon_;
};

}  // namespace

template <>
void AddRmsNormQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_elements(args.dtype, args.data[kX1], args.stream, [&](auto x) {
    if (args.divide)
      RowNorm<decltype(x), true>(args).run();
    else
      RowNorm<decltype(x), false>(args).run();
  });
}

}  // namespace npu_quant
