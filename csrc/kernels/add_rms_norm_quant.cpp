// npu_add_rms_norm_quant (docs/numerics.md 5):
//   s = x1 + x2     x = s rounded     rstd = 1 / sqrt(mean(s * s) + epsilon)
//   t = s * rstd * gamma + beta       y = rint(t / scale + zero_point), or t * scale; NaN gives 0
#include "kernels/add_rms_norm_quant.h"

#include "kernels/piece.h"
#include "simd/codes.h"

namespace npu_quant {
namespace {

using Kernel = AddRmsNormQuantKernel;
using Args = Kernel::Args;

// The second pass goes through 4 rows together, in pieces of 512 elements, for which the weights
// are then in L1; fewer rows where L2 does not hold them and those to come (256 KiB).
constexpr int64_t kRowsInTurn = 4, kElementsTogether = 512;
constexpr int64_t kBytesTogether = 256 << 10;
constexpr int64_t kMostRows = 64;  // of transposed outputs, which share cache lines
// The sum of squares has this shape on every target (docs/numerics.md 5).
constexpr int64_t kSumLanes = 64;
static_assert(kSumLanes % kTile == 0 && kElementsTogether % kSumLanes == 0 &&
              kPiece % kSumLanes == 0);

// Lane j adds elements j, j + 64, j + 128, ... in that order; then halves are added.
struct SumOfSquares {
  F32 lanes[kSumLanes / kLanes];

  NPU_QUANT_INLINE void clear() {
    for (F32& lane : lanes) lane = F32{};
  }
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
    const Padded<X> a(x1 + i, n - i), b(x2 + i, n - i);
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

enum { kGamma, kBeta, kScale, kZeroPoint, kWeights };

// All weights of an output; a value for all elements is read from a tile of copies.
class Weights {
 public:
  Weights(const Args& args, const Kernel::Quantizer& quantizer) {
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

// The norm of a tile of sums.
template <class OutType>
struct Norm {
  using Y = OutType;

  static NPU_QUANT_INLINE Tile of(const Tile& s, F32 rstd, const Weight* weights, int64_t i) {
    const auto* gamma = weights[kGamma].from(i);
    const auto* beta = weights[kBeta].from(i);
    Tile t;
    for (int p = 0; p < 4; ++p) t.part[p] = s.part[p] * rstd * part_of(gamma, p) + part_of(beta, p);
    return t;
  }
  static NPU_QUANT_INLINE void put(typename Y::Storage* y, const Tile& t, Stores stores) {
    Y::put(y, t, stores);
  }
};

// Its codes.
template <bool divide>
struct Codes {
  using Y = Int8;

  static NPU_QUANT_INLINE Tile of(const Tile& s, F32 rstd, const Weight* weights, int64_t i) {
    const auto* scale = weights[kScale].from(i);
    const auto* zero_point = weights[kZeroPoint].from(i);
    Tile q = Norm<Y>::of(s, rstd, weights, i);
    for (int p = 0; p < 4; ++p) {
      const F32 t = q.part[p];
      const F32 v = divide ? t / part_of(scale, p) : t * part_of(scale, p);
      q.part[p] = v + part_of(zero_point, p);
    }
    return q;
  }
  static NPU_QUANT_INLINE void put(int8_t* y, const Tile& q, Stores stores) {
    put_with_zero_for_nan<Y>(y, q, stores);
  }
};

// Elements [first, first + n) of a row in the second pass.
struct NormedPiece {
  const char *x1, *x2;
  const char *next1, *next2;  // what to ask memory for meanwhile, or null
  char* y;
  int64_t first, n;
  int64_t readable;  // elements of x1 and x2, n or more
  bool stream;
};

template <class X, class Rule>
__attribute__((noinline)) void norm_piece(const NormedPiece& piece, float row_rstd,
                                          const Weights& weights) {
  using T = typename X::Storage;
  constexpr int64_t kPerLine = 64 / static_cast<int64_t>(sizeof(T));
  const auto *x1 = reinterpret_cast<const T*>(piece.x1), *x2 = reinterpret_cast<const T*>(piece.x2);
  auto* const y = reinterpret_cast<typename Rule::Y::Storage*>(piece.y);
  const auto next1 = reinterpret_cast<uintptr_t>(piece.next1);
  const auto next2 = reinterpret_cast<uintptr_t>(piece.next2);
  const int64_t first = piece.first, n = piece.n;
  const Stores stores{piece.stream};
  const F32 rstd = broadcast(row_rstd);
  const Weight at[kWeights] = {weights.at[0], weights.at[1], weights.at[2], weights.at[3]};
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) {
    if (next1 != 0)
      for (int64_t line = i; line < i + kTile; line += kPerLine) {
        prefetch(next1 + static_cast<uintptr_t>(line) * sizeof(T));
        prefetch(next2 + static_cast<uintptr_t>(line) * sizeof(T));
      }
    Rule::put(y + i, Rule::of(added<X>(x1 + i, x2 + i), rstd, at, first + i), stores);
  }
  if (i == n) return;
  // The rest is part of a tile that can be read, or is padded to one.
  typename Rule::Y::Storage end[kTile];
  const auto bytes = static_cast<size_t>(n - i) * sizeof *end;
  const int64_t start = n > kTile ? n - kTile : 0;
  if (start + kTile <= piece.readable) {
    const Tile s = added<X>(x1 + start, x2 + start);
    Rule::put(end, Rule::of(s, rstd, at, first + start), Stores{false});
    std::memcpy(y + i, end + i - start, bytes);
  } else {
    const Padded<X> a(x1 + i, n - i), b(x2 + i, n - i);
    const EndOfWeights end_weights(weights, first + i, n - i);
    const Tile s = added<X>(a.values, b.values);
    Rule::put(end, Rule::of(s, rstd, end_weights.at, 0), Stores{false});
    std::memcpy(y + i, end, bytes);
  }
}

template <class X>
class RowNorm {
 public:
  explicit RowNorm(const Args& args)
      : args_(args),
        x1_(args.tensors[Kernel::kX1], kItem, buffers_[Kernel::kX1]),
        x2_(args.tensors[Kernel::kX2], kItem, buffers_[Kernel::kX2]),
        x_(args.tensors[Kernel::kX], kItem, buffers_[Kernel::kX], args.stream, streams_by_buffer()),
        norm_(args.tensors[Kernel::kRmsNorm], kItem, buffers_[Kernel::kRmsNorm], false),
        y_{{args.tensors[Kernel::kY1], 1, buffers_[Kernel::kY1], args.stream},
           {args.tensors[Kernel::kY2], 1, buffers_[Kernel::kY2], args.stream}},
        weights_{{args, args.quantizers[0]}, {args, args.quantizers[1]}},
        epsilon_(static_cast<float>(args.epsilon)) {}

  void run() {
    const int64_t fitting = most(1, kBytesTogether / (args_.n * 2 * kItem));
    int64_t rows = 0;
    for (int64_t row = 0; row < args_.rows; row += rows) {
      const int64_t shared = most(most(x_.rows_together(row), norm_.rows_together(row)),
                                  most(y_[0].rows_together(row), y_[1].rows_together(row)));
      rows = least(args_.rows - row, shared > 1 ? shared : least(fitting, kRowsInTurn));
      const int64_t next = row + rows < args_.rows ? rows : 0;
      float rstd[kMostRows];
      normalise(row, rows, rstd);
      for (int64_t i = 0; i < args_.n + kElementsTogether; i += kElementsTogether)
        for (int o = 0; o < 2; ++o)
          if (y_[o].is_wanted()) encode_rows(row, rows, next, i, o, rstd);
      if (norm_.is_wanted()) write_norm(row, rows, rstd);
    }
    if (args_.stream) stream_fence();
  }

 private:
  static constexpr int64_t kItem = sizeof(typename X::Storage);
  static constexpr int64_t kSharedWidth = kBufferBytes / (kMostRows * kItem);

  // x is streamed as it is computed where its rows begin at vectors, else from a buffer.
  bool streams_by_buffer() const {
    const Strided& x = args_.tensors[Kernel::kX];
    return !is_vector_aligned(x.data) || x.row_stride % kVectorBytes != 0;
  }

  static typename X::Storage* typed(char* x) { return reinterpret_cast<typename X::Storage*>(x); }
  static const typename X::Storage* typed(const char* x) {
    return reinterpret_cast<const typename X::Storage*>(x);
  }

  // The first pass: x of some rows, and what their sums are multiplied by. Row by row, but for
  // outputs of which the rows share cache lines.
  void normalise(int64_t row, int64_t rows, float* rstd) {
    const int64_t together = x_.shares_lines() ? rows : 1;
    const int64_t width = x_.shares_lines() ? kSharedWidth : kPiece;
    SumOfSquares squares[kMostRows];
    for (int64_t first = row; first < row + rows; first += together) {
      for (int64_t r = 0; r < together; ++r) squares[r].clear();
      for (int64_t i = 0; i < args_.n; i += width) {
        const int64_t count = least(args_.n - i, width);
        for (int64_t r = 0; r < together; ++r) {
          fetch(first + r, i, count);
          char* const x = x_.is_wanted() ? x_.at(first + r, i, r * width) : nullptr;
          add_piece<X>(typed(x1_.at(first + r, i)), typed(x2_.at(first + r, i)), typed(x), count,
                       squares[r], Stores{args_.stream && x_.is_direct()});
        }
        x_.put(first, i, count, together, width);
      }
      for (int64_t r = 0; r < together; ++r) {
        const float mean = squares[r].value() / static_cast<float>(args_.n);
        rstd[first - row + r] = 1 / __builtin_sqrtf(mean + epsilon_);
      }
    }
  }

  void fetch(int64_t row, int64_t i, int64_t count) {
    x1_.fetch(row, 1, i, count, count);
    x2_.fetch(row, 1, i, count, count);
  }

  // Codes [i, i + kElementsTogether) of some rows, or as many earlier ones as make a streamed y
  // begin at a vector.
  void encode_rows(int64_t row, int64_t rows, int64_t next, int64_t i, int o, const float* rstd) {
    for (int64_t r = 0; r < rows; ++r) {
      int64_t early = 0;
      if (y_[o].takes_streams()) {
        const int64_t head = elements_to_alignment(y_[o].at(row + r, 0), 1, kElementsTogether);
        early = head == 0 ? 0 : kElementsTogether - head;
      }
      const int64_t begin = i > early ? i - early : 0;
      const int64_t count = least(args_.n, i + kElementsTogether - early) - begin;
      if (count <= 0) continue;
      const bool shares = y_[o].shares_lines();
      char* const y = y_[o].at(row + r, begin, shares ? r * kElementsTogether : 0);
      if (args_.quantizers[o].scale.data == nullptr)
        std::memset(y, 0, static_cast<size_t>(count));
      else
        encode(y, row + r, least(row + r + next, args_.rows - 1), begin, count, o, rstd[r]);
      if (!shares) y_[o].put(row + r, begin, count);
      if (shares && r == rows - 1) y_[o].put(row, begin, count, rows, kElementsTogether);
    }
  }

  void encode(char* y, int64_t row, int64_t next_row, int64_t i, int64_t count, int o, float rstd) {
    NormedPiece piece = piece_of(row, i, count);
    if (args_.stream && x1_.is_direct() && x2_.is_direct()) {
      piece.next1 = x1_.at(next_row, i);
      piece.next2 = x2_.at(next_row, i);
    }
    piece.y = y;
    piece.stream = y_[o].takes_streams();
    if (args_.divide)
      norm_piece<X, Codes<true>>(piece, rstd, weights_[o]);
    else
      norm_piece<X, Codes<false>>(piece, rstd, weights_[o]);
  }

  NormedPiece piece_of(int64_t row, int64_t i, int64_t count) {
    fetch(row, i, count);
    NormedPiece piece{};
    piece.x1 = x1_.at(row, i);
    piece.x2 = x2_.at(row, i);
    piece.first = i;
    piece.n = count;
    piece.readable = x1_.is_direct() && x2_.is_direct() ? args_.n - i : count;
    return piece;
  }

  void write_norm(int64_t row, int64_t rows, const float* rstd) {
    const bool shares = norm_.shares_lines();
    const int64_t width = shares ? kSharedWidth : kPiece;
    const int64_t together = shares ? rows : 1;
    for (int64_t first = row; first < row + rows; first += together)
      for (int64_t i = 0; i < args_.n; i += width) {
        const int64_t count = least(args_.n - i, width);
        for (int64_t r = 0; r < together; ++r) {
          NormedPiece piece = piece_of(first + r, i, count);
          piece.y = norm_.at(first + r, i, r * width);
          norm_piece<X, Norm<X>>(piece, rstd[first - row + r], weights_[0]);
        }
        norm_.put(first, i, count, together, width);
      }
  }

  const Args& args_;
  Source x1_, x2_;
  Sink x_, norm_, y_[2];
  Weights weights_[2];
  float epsilon_;
  Buffer buffers_[Kernel::kTensors];
};

}  // namespace

template <>
void AddRmsNormQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float(args.dtype, args.tensors[kX1].data, args.stream,
              [&](auto x) { RowNorm<decltype(x)>(args).run(); });
}

}  // namespace npu_quant
