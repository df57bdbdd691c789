// npu_add_rms_norm_quant (docs/numerics.md 5):
//   s = x1 + x2     x = s rounded     rstd = 1 / sqrt(mean(s * s) + epsilon)
//   t = s * rstd * gamma + beta       y = rint(t / scale + zero_point), or t * scale; NaN gives 0;
//                                     of floats: the nearest code
#include "kernels/add_rms_norm_quant.h"

#include "kernels/norm.h"
#include "kernels/strips.h"

namespace npu_quant {
namespace {

using Kernel = AddRmsNormQuantKernel;
using Args = Kernel::Args;

// The second pass goes through 4 rows together, in pieces of 512 elements, for which the weights
// are then in L1; fewer rows where L2 does not hold them and those to come (256 KiB).
constexpr int64_t kRowsInTurn = 4, kElementsTogether = 512;
constexpr int64_t kBytesTogether = 256 << 10;
static_assert(kElementsTogether % kSumLanes == 0 && kPiece % kSumLanes == 0);

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
                                          const Weights& weights, const Rule& rule) {
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
    rule.put(y + i, rule.of(added<X>(x1 + i, x2 + i), rstd, at, first + i), stores);
  }
  if (i == n) return;
  // The rest is part of a tile that can be read, or is padded to one.
  typename Rule::Y::Storage end[kTile];
  const auto bytes = static_cast<size_t>(n - i) * sizeof *end;
  const int64_t start = n > kTile ? n - kTile : 0;
  if (start + kTile <= piece.readable) {
    const Tile s = added<X>(x1 + start, x2 + start);
    rule.put(end, rule.of(s, rstd, at, first + start), Stores{false});
    std::memcpy(y + i, end + (i - start), bytes);
  } else {
    const PaddedSum<X> a(x1 + i, n - i), b(x2 + i, n - i);
    const EndOfWeights end_weights(weights, first + i, n - i);
    const Tile s = added<X>(a.values, b.values);
    rule.put(end, rule.of(s, rstd, end_weights.at, 0), Stores{false});
    std::memcpy(y + i, end, bytes);
  }
}

template <class X>
class RowNorm {
 public:
  explicit RowNorm(const Args& args)
      : args_(args),
        x1_(args.tensors[Kernel::kX1], kItem, read_[0]),
        x2_(args.tensors[Kernel::kX2], kItem, read_[1]),
        x_(args.tensors[Kernel::kX], kItem, written_, args.stream, streams_by_buffer()),
        norm_(args.tensors[Kernel::kRmsNorm], kItem, written_, false),
        y_{{args.tensors[Kernel::kY1], 1, written_, args.stream},
           {args.tensors[Kernel::kY2], 1, written_, args.stream}},
        weights_{{args, args.quantizers[0]}, {args, args.quantizers[1]}},
        epsilon_(static_cast<float>(args.epsilon)) {}

  void run() {
    const int64_t fitting = most(1, kBytesTogether / (args_.n * 2 * kItem));
    int64_t rows = 0;
    for (int64_t row = 0; row < args_.rows; row += rows) {
      rows = least(args_.rows - row, least(fitting, kRowsInTurn));
      const int64_t next = row + rows < args_.rows ? rows : 0;
      float rstd[kRowsInTurn];
      for (int64_t r = 0; r < rows; ++r) rstd[r] = normalise(row + r);
      for (int64_t i = 0; i < args_.n + kElementsTogether; i += kElementsTogether)
        for (int o = 0; o < 2; ++o)
          if (y_[o].is_wanted()) encode_rows(row, rows, next, i, o, rstd);
      for (int64_t r = 0; r < rows && norm_.is_wanted(); ++r) write_norm(row + r, rstd[r]);
    }
    if (args_.stream) stream_fence();
  }

 private:
  static constexpr int64_t kItem = sizeof(typename X::Storage);

  // x is streamed as it is computed where its rows begin at vectors, else from a buffer.
  bool streams_by_buffer() const {
    const Strided& x = args_.tensors[Kernel::kX];
    return !is_vector_aligned(x.data) || x.row_stride % kVectorBytes != 0;
  }

  static typename X::Storage* typed(char* x) { return reinterpret_cast<typename X::Storage*>(x); }
  static const typename X::Storage* typed(const char* x) {
    return reinterpret_cast<const typename X::Storage*>(x);
  }

  // The first pass: x of a row, and what its sums are multiplied by.
  float normalise(int64_t row) {
    SumOfSquares squares;
    squares.clear();
    for (int64_t i = 0; i < args_.n; i += kPiece) {
      const int64_t count = least(args_.n - i, kPiece);
      fetch(row, i, count);
      char* const x = x_.is_wanted() ? x_.at(row, i) : nullptr;
      add_piece<X>(typed(x1_.at(row, i)), typed(x2_.at(row, i)), typed(x), count, squares,
                   Stores{args_.stream && x_.is_direct()});
      x_.put(row, i, count);
    }
    const float mean = squares.value() / static_cast<float>(args_.n);
    return 1 / __builtin_sqrtf(mean + epsilon_);
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
      encode(y_[o].at(row + r, begin), row + r, least(row + r + next, args_.rows - 1), begin, count,
             o, rstd[r]);
      y_[o].put(row + r, begin, count);
    }
  }

  void encode(char* y, int64_t row, int64_t next_row, int64_t i, int64_t count, int o, float rstd) {
    if (args_.quantizers[o].scale.data == nullptr)
      return static_cast<void>(std::memset(y, 0, static_cast<size_t>(count)));
    NormedPiece piece = piece_of(row, i, count);
    if (args_.stream && x1_.is_direct() && x2_.is_direct()) {
      piece.next1 = x1_.at(next_row, i);
      piece.next2 = x2_.at(next_row, i);
    }
    piece.y = y;
    piece.stream = y_[o].takes_streams();
    visit_codes(args_, [&](const auto& codes) { norm_piece<X>(piece, rstd, weights_[o], codes); });
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

  void write_norm(int64_t row, float rstd) {
    for (int64_t i = 0; i < args_.n; i += kPiece) {
      const int64_t count = least(args_.n - i, kPiece);
      NormedPiece piece = piece_of(row, i, count);
      piece.y = norm_.at(row, i);
      norm_piece<X>(piece, rstd, weights_[0], Norm<X>{});
      norm_.put(row, i, count);
    }
  }

  const Args& args_;
  Source x1_, x2_;
  Sink x_, norm_, y_[2];
  Weights weights_[2];
  float epsilon_;
  Buffer<kPiece * kItem> read_[2];
  Buffer<> written_;  // a piece of one output at a time
};

// Rows of a few elements, as many at a time as kElementsTogether holds, one after the other: every
// element has weights and a multiplier of its own.
template <class X>
class ShortRowNorm {
 public:
  explicit ShortRowNorm(const Args& args)
      : args_(args),
        together_(kElementsTogether / args.n),
        x1_(args.tensors[Kernel::kX1], kItem, read_[0]),
        x2_(args.tensors[Kernel::kX2], kItem, read_[1]) {
    x1_.join(args.n);
    x2_.join(args.n);
    join(args.gamma, weights_[0][kGamma], weights_[1][kGamma]);
    join(args.beta, weights_[0][kBeta], weights_[1][kBeta]);
    for (int o = 0; o < 2; ++o) {
      join(args.quantizers[o].scale, weights_[o][kScales], weights_[o][kScales]);
      join(args.quantizers[o].zero_point, weights_[o][kZeroPoints], weights_[o][kZeroPoints]);
    }
  }

  void run() {
    for (int64_t row = 0; row < args_.rows; row += together_) {
      const int64_t rows = least(args_.rows - row, together_);
      add(row, rows);
      for (int64_t r = 0; r < rows; ++r) normalise(r);
      put(Kernel::kX, row, rows, x_, kItem);
      write(Kernel::kRmsNorm, row, rows, 0, Norm<X>{});
      for (int o = 0; o < 2; ++o) {
        const int tensor = o == 0 ? Kernel::kY1 : Kernel::kY2;
        if (args_.quantizers[o].scale.data == nullptr)
          put_zeros(tensor, row, rows);
        else
          visit_codes(args_, [&](const auto& codes) { write(tensor, row, rows, o, codes); });
      }
    }
  }

 private:
  using T = typename X::Storage;
  static constexpr int64_t kItem = sizeof(T), kMost = kElementsTogether + kTile;

  void join(const Strided& weight, float* to, float* also_to) const {
    const int64_t count = together_ * args_.n;
    if (weight.data != nullptr)
      join_parameters(weight, 0, together_, args_.n, to);
    else
      for (int64_t i = 0; i < count; ++i) to[i] = -0.0f;  // adding it changes nothing
    if (also_to != to) std::memcpy(also_to, to, static_cast<size_t>(count) * sizeof(float));
  }

  // Sums of some rows, in float32 and as x.
  void add(int64_t row, int64_t rows) {
    const int64_t n = args_.n, count = rows * n;
    x1_.fetch(row, rows, 0, n, n);
    x2_.fetch(row, rows, 0, n, n);
    const auto* const x1 = reinterpret_cast<const T*>(x1_.at(row, 0));
    const auto* const x2 = reinterpret_cast<const T*>(x2_.at(row, 0));
    const auto put_sums = [&](int64_t i, const Tile& s) {
      for (int p = 0; p < 4; ++p) store(sums_ + i + p * kLanes, s.part[p]);
      X::put(reinterpret_cast<T*>(x_) + i, s, Stores{false});
    };
    int64_t i = 0;
    for (; i + kTile <= count; i += kTile) put_sums(i, added<X>(x1 + i, x2 + i));
    if (i == count) return;
    const PaddedSum<X> a(x1 + i, count - i), b(x2 + i, count - i);
    put_sums(i, added<X>(a.values, b.values));
  }

  // The multiplier of a row, for each of its elements. The sum has the shape of SumOfSquares, less
  // the lanes that hold nothing.
  void normalise(int64_t r) {
    const int64_t n = args_.n;
    const float* const s = sums_ + r * n;
    float lane[kSumLanes];
    for (int64_t j = 0; j < n; ++j) lane[j] = s[j] * s[j];
    for (int64_t half = kSumLanes / 2; half > 0; half /= 2)
      for (int64_t j = 0; j + half < n && j < half; ++j) lane[j] += lane[j + half];
    const float mean = lane[0] / static_cast<float>(n);
    const float rstd = 1 / __builtin_sqrtf(mean + static_cast<float>(args_.epsilon));
    for (int64_t j = 0; j < n; ++j) rstd_[r * n + j] = rstd;
  }

  template <class Rule>
  void write(int tensor, int64_t row, int64_t rows, int o, const Rule& rule) {
    using Y = typename Rule::Y::Storage;
    if (args_.tensors[tensor].data == nullptr) return;
    const Weight all[kWeights] = {{unaligned(weights_[o][0]), -1},
                                  {unaligned(weights_[o][1]), -1},
                                  {unaligned(weights_[o][2]), -1},
                                  {unaligned(weights_[o][3]), -1}};
    for (int64_t i = 0; i < rows * args_.n; i += kTile) {
      const Tile s = Float32<WholeLoads>::load(unaligned(sums_ + i));
      const Unaligned<float>* const rstd = unaligned(rstd_ + i);
      rule.put(reinterpret_cast<Y*>(results_) + i, rule.of(s, rstd, all, i), Stores{false});
    }
    put(tensor, row, rows, results_, sizeof(Y));
  }

  void put_zeros(int tensor, int64_t row, int64_t rows) {
    std::memset(results_, 0, sizeof results_);
    put(tensor, row, rows, results_, 1);
  }

  void put(int tensor, int64_t row, int64_t rows, const char* results, int64_t item) {
    if (args_.tensors[tensor].data == nullptr) return;
    Sink sink(args_.tensors[tensor], item, written_, false);
    sink.join(args_.n);
    std::memcpy(sink.at(row, 0), results, static_cast<size_t>(rows * args_.n * item));
    sink.put(row, 0, args_.n, rows, args_.n);
  }

  const Args& args_;
  const int64_t together_;
  Source x1_, x2_;
  alignas(64) float sums_[kMost] = {}, rstd_[kMost] = {};
  alignas(64) float weights_[2][kWeights][kMost] = {};
  alignas(64) char x_[kMost * 4], results_[kMost * 4];
  Buffer<kMost * kItem> read_[2], written_;
};

void norm_direct(const Args& args) {
  visit_float(args.dtype, halves_help(args.tensors[Kernel::kX1].data, 0, args.stream),
              [&](auto x) { run_apart<RowNorm<decltype(x)>>(args); });
}

// In strips of the outputs, which are all tensors from x on.
void norm_transposed(const Args& args) {
  constexpr int kOutputs = Kernel::kTensors - Kernel::kX;
  Strided y[kOutputs];
  int64_t items[kOutputs];
  for (int o = 0; o < kOutputs; ++o) {
    const int tensor = Kernel::kX + o;
    y[o] = args.tensors[tensor];
    items[o] = tensor == Kernel::kY1 || tensor == Kernel::kY2 ? 1 : size_of(args.dtype);
  }
  Strips<kOutputs> strips(args.rows, args.n, args.n, y, items);
  if (!strips.has_memory()) return norm_direct(args);
  strips.run(args.stream, [&](int64_t row, int64_t rows, int64_t, int64_t, const Strided* to) {
    Args part = args;
    part.rows = rows;
    part.tensors[Kernel::kX1] = args.tensors[Kernel::kX1].from(row, 0);
    part.tensors[Kernel::kX2] = args.tensors[Kernel::kX2].from(row, 0);
    for (int o = 0; o < kOutputs; ++o) part.tensors[Kernel::kX + o] = to[o];
    part.stream = false;
    norm_direct(part);
  });
}

}  // namespace

template <>
void AddRmsNormQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  constexpr int64_t kShort = 32;  // a row of more elements takes less time by itself
  if (args.n < kShort && args.rows > 1)
    return visit_float_with<WholeLoads>(
        args.dtype, [&](auto x) { run_apart<ShortRowNorm<decltype(x)>>(args); });
  for (int tensor = kX; tensor < kTensors; ++tensor)
    if (is_transposed(args.tensors[tensor])) return norm_transposed(args);
  norm_direct(args);
}

}  // namespace npu_quant
