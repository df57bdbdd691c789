// npu_add_rms_norm_quant (docs/numerics.md 5) and its relatives: the source of norm.h, then codes
// by scales and zero points, or of each row by a scale of its own.
//   y = rint(t / scale + zero_point), or t * scale; NaN gives 0; of floats: the nearest code
#include "kernels/rms_norm.h"

#include "kernels/affine_codes.h"
#include "kernels/norm.h"
#include "kernels/reduce_encode.h"
#include "kernels/strips.h"

namespace npu_quant {

namespace {

using Kernel = RmsNormKernel;
using Args = Kernel::Args;

// Codes by scales: of 4 rows together, in pieces of 512 elements, for which the weights are then in
// L1; fewer rows where L2 does not hold them and those to come (256 KiB).
constexpr int64_t kRowsInTurn = 4, kElementsTogether = 512;
constexpr int64_t kBytesTogether = 256 << 10;

Affine affine_of(const Args& args, int output) {
  const Kernel::Quantizer& by = args.quantizers[output];
  return {{by.scale, by.zero_point, by.factor, by.offset}, args.divide};
}

void store_rstd(const Args& args, int64_t row, float rstd) {
  store_scale(args.tensors[Kernel::kRstd], row, 0, rstd == rstd ? rstd : __builtin_nanf(""));
}

// The rows of a call as a source: begin() is the first pass over some of them.
template <class X>
class NormedRows {
 public:
  using T = typename X::Storage;
  static constexpr int64_t kItem = sizeof(T);

  explicit NormedRows(const Args& args)
      : args_(args),
        x1_(args.tensors[Kernel::kX1], kItem, read_[0]),
        x2_(args.tensors[Kernel::kX2], kItem, read_[1]),
        x_(args.tensors[Kernel::kX], kItem, written_, args.stream, streams_by_buffer()),
        epsilon_(static_cast<float>(args.epsilon)) {}

  void begin(int64_t row, int64_t rows) {
    first_ = row;
    together_ = rows;
    for (int64_t r = 0; r < rows; ++r) rstd_[r] = normalise(row + r);
  }
  int64_t most_elements(int64_t rows) const { return is_direct() ? kMostValues : kPiece / rows; }
  void fetch(int64_t row, int64_t rows, int64_t i, int64_t n) {
    x1_.fetch(row, rows, i, n, n);
    x2_.fetch(row, rows, i, n, n);
  }
  template <class To>
  void put(int64_t row, int64_t i, int64_t n, const Weights& weights, const To& to) const {
    Sums<X> next{};
    if (args_.stream && is_direct()) next = sums_at(least(row + together_, args_.rows - 1), i);
    norm_piece<X>({sums_at(row, i), next, i, n}, rstd_[row - first_], weights, to);
  }

 private:
  bool is_direct() const { return x1_.is_direct() && x2_.is_direct(); }
  // x is streamed as it is computed where its rows begin at vectors, else from a buffer.
  bool streams_by_buffer() const {
    const Strided& x = args_.tensors[Kernel::kX];
    return !is_vector_aligned(x.data) || x.row_stride % kVectorBytes != 0;
  }
  Sums<X> sums_at(int64_t row, int64_t i) const {
    return {reinterpret_cast<const T*>(x1_.at(row, i)), reinterpret_cast<const T*>(x2_.at(row, i))};
  }

  // x of a row, and what its sums are multiplied by.
  float normalise(int64_t row) {
    SumOfSquares squares;
    squares.clear();
    for (int64_t i = 0; i < args_.n; i += kPiece) {
      const int64_t count = least(args_.n - i, kPiece);
      fetch(row, 1, i, count);
      char* const x = x_.is_wanted() ? x_.at(row, i) : nullptr;
      add_piece<X>(sums_at(row, i), reinterpret_cast<T*>(x), count, squares,
                   Stores{args_.stream && x_.is_direct()});
      x_.put(row, i, count);
    }
    const float rstd = rstd_of(squares.value(), args_.n, epsilon_);
    store_rstd(args_, row, rstd);
    return rstd;
  }

  const Args& args_;
  Source x1_, x2_;
  Sink x_;
  float epsilon_;
  int64_t first_ = 0, together_ = 1;
  float rstd_[kRowsInTurn];
  Buffer<kPiece * kItem> read_[2];
  Buffer<kPiece * kItem> written_;
};

// The source of an output.
template <class X>
struct Branch {
  NormedRows<X>& rows;
  const Weights& weights;
  const Strided& smooth;

  int64_t most_elements(int64_t together) const { return rows.most_elements(together); }
  void fetch(int64_t row, int64_t together, int64_t i, int64_t n) {
    rows.fetch(row, together, i, n);
  }
  void fill(int64_t row, int64_t i, int64_t n, float* v) const {
    const auto* const factors = smooth.data != nullptr ? parameter_at(smooth, 0, i) : nullptr;
    rows.put(row, i, n, weights, ToValues{v, factors});
  }
  uintptr_t next(int64_t, int64_t) const { return 0; }  // fill() has asked
};

// Rows that are each quantized by a scale of its own.
template <class X>
class DynamicNorm {
 public:
  explicit DynamicNorm(const Args& args)
      : args_(args),
        rows_(args),
        weights_(args),
        branches_{{rows_, weights_, args.quantizers[0].smooth},
                  {rows_, weights_, args.quantizers[1].smooth}},
        of_outputs_{dynamic_args(0), dynamic_args(1)},
        outputs_{{of_outputs_[0], branches_[0], values_, codes_},
                 {of_outputs_[1], branches_[1], values_, codes_}} {}

  void run() {
    for (int64_t row = 0; row < args_.rows; ++row) {
      rows_.begin(row, 1);
      for (int o = 0; o < 2; ++o)
        if (of_outputs_[o].y.data != nullptr || of_outputs_[o].scale.data != nullptr)
          outputs_[o].quantize(row, 1);
    }
    if (args_.stream) stream_fence();
  }

 private:
  DynamicArgs dynamic_args(int output) const {
    DynamicArgs of{};
    of.dtype = args_.dtype;
    of.format = args_.codes;
    of.rows = args_.rows;
    of.n = of.group = args_.n;
    const Strided& y = args_.tensors[Kernel::kY1 + output];
    const bool in_bytes = y.packed() && y.stride == kPackedItem;
    of.y = {y.data, y.row_stride, in_bytes ? 1 : y.stride};
    of.scale = args_.tensors[Kernel::kScale1 + output];
    of.rule = args_.rule;
    of.stream = args_.stream;
    return of;
  }

  const Args& args_;
  NormedRows<X> rows_;
  Weights weights_;
  Branch<X> branches_[2];
  DynamicArgs of_outputs_[2];
  DynamicValues<Branch<X>> outputs_[2];
  ValueBuffer values_;
  Buffer<> codes_;
};

// Rows whose codes go by scales that are given.
template <class X>
class ScaledNorm {
 public:
  explicit ScaledNorm(const Args& args)
      : args_(args),
        rows_(args),
        weights_(args),
        by_{affine_of(args, 0), affine_of(args, 1)},
        norm_(args.tensors[Kernel::kRmsNorm], NormedRows<X>::kItem, written_, false),
        y_{{args.tensors[Kernel::kY1], 1, written_, args.stream},
           {args.tensors[Kernel::kY2], 1, written_, args.stream}} {}

  void run() {
    const int64_t fitting = most(1, kBytesTogether / most(1, args_.n * 2 * NormedRows<X>::kItem));
    int64_t rows = 0;
    for (int64_t row = 0; row < args_.rows; row += rows) {
      rows = least(args_.rows - row, least(fitting, kRowsInTurn));
      rows_.begin(row, rows);
      for (int64_t i = 0; i < args_.n + kElementsTogether; i += kElementsTogether)
        for (int o = 0; o < 2; ++o)
          if (y_[o].is_wanted())
            for (int64_t r = row; r < row + rows; ++r) encode(o, r, i);
      for (int64_t r = row; r < row + rows && norm_.is_wanted(); ++r) write_norm(r);
    }
    if (args_.stream) stream_fence();
  }

 private:
  // Codes [i, i + kElementsTogether) of a row, or as many earlier ones as make a streamed y begin
  // at a vector.
  void encode(int o, int64_t row, int64_t i) {
    Sink& y = y_[o];
    int64_t early = 0;
    if (y.takes_streams()) {
      const int64_t head = elements_to_alignment(y.at(row, 0), 1, kElementsTogether);
      early = head == 0 ? 0 : kElementsTogether - head;
    }
    const int64_t begin = i > early ? i - early : 0;
    const int64_t n = least(args_.n, i + kElementsTogether - early) - begin;
    if (n <= 0) return;
    char* const to = y.at(row, begin);
    if (args_.quantizers[o].scale.data == nullptr) {
      std::memset(to, 0, static_cast<size_t>(n));
    } else {
      rows_.fetch(row, 1, begin, n);
      with_codes(args_.codes, by_[o], begin, n, to, Stores{y.takes_streams()},
                 [&](const auto& codes) { rows_.put(row, begin, n, weights_, codes); });
    }
    y.put(row, begin, n);
  }

  void write_norm(int64_t row) {
    for (int64_t i = 0; i < args_.n; i += kElementsTogether) {
      const int64_t n = least(args_.n - i, kElementsTogether);
      rows_.fetch(row, 1, i, n);
      rows_.put(row, i, n, weights_, ToValues{values_, nullptr});
      put_values<X>(values_, n, reinterpret_cast<typename X::Storage*>(norm_.at(row, i)));
      norm_.put(row, i, n);
    }
  }

  const Args& args_;
  NormedRows<X> rows_;
  Weights weights_;
  Affine by_[2];
  Sink norm_, y_[2];
  alignas(64) float values_[kElementsTogether + kTile];
  Buffer<> written_;  // a piece of one output at a time
};

// Rows of a few elements, as many at a time as kTogether holds, one after the other: every element
// has weights and a multiplier of its own.
template <class X>
class ShortNorm {
 public:
  explicit ShortNorm(const Args& args)
      : args_(args),
        together_(kTogether / args.n),
        x1_(args.tensors[Kernel::kX1], kItem, read_[0]),
        x2_(args.tensors[Kernel::kX2], kItem, read_[1]) {
    x1_.join(args.n);
    x2_.join(args.n);
    join(args.gamma, gamma_);
    join(args.beta, beta_);
    for (int o = 0; o < 2; ++o) {
      by_[o].divides = args.divide;
      for (int w = Affine::kScale; w <= Affine::kZeroPoint; ++w) {
        join(affine_of(args, o).weights[w], weights_[o][w]);
        by_[o].weights[w] = {reinterpret_cast<char*>(weights_[o][w]), 0, sizeof(float)};
      }
    }
  }

  void run() {
    for (int64_t row = 0; row < args_.rows; row += together_) {
      const int64_t rows = least(args_.rows - row, together_), count = rows * args_.n;
      add(row, rows);
      for (int64_t r = 0; r < rows; ++r) normalise(row + r, r);
      put(Kernel::kX, row, rows, x_, kItem);
      for (int64_t i = 0; i < count; i += kTile)
        for (int64_t k = i; k < i + kTile; k += kLanes)
          store(sums_ + k, load<F32>(sums_ + k) * load<F32>(rstd_ + k) * load<F32>(gamma_ + k) +
                               load<F32>(beta_ + k));
      if (args_.tensors[Kernel::kRmsNorm].data != nullptr)
        put_values<X>(sums_, count, reinterpret_cast<T*>(x_));
      put(Kernel::kRmsNorm, row, rows, x_, kItem);
      for (int o = 0; o < 2; ++o)
        if (args_.tensors[Kernel::kY1 + o].data != nullptr) write_codes(o, row, rows);
    }
  }

 private:
  using T = typename X::Storage;
  static constexpr int64_t kTogether = 512, kItem = sizeof(T), kMost = kTogether + kTile;

  void join(const Strided& weight, float* to) const {
    if (weight.data != nullptr) return join_parameters(weight, 0, together_, args_.n, to);
    for (int64_t i = 0; i < kTogether; ++i) to[i] = -0.0f;  // adding it changes nothing
  }

  // Sums of some rows, in float32 and as x.
  void add(int64_t row, int64_t rows) {
    const int64_t n = args_.n, count = rows * n;
    x1_.fetch(row, rows, 0, n, n);
    x2_.fetch(row, rows, 0, n, n);
    const Sums<X> sums{reinterpret_cast<const T*>(x1_.at(row, 0)),
                       reinterpret_cast<const T*>(x2_.at(row, 0))};
    const auto put_sums = [&](int64_t i, const Tile& s) {
      for (int p = 0; p < 4; ++p) store(sums_ + i + p * kLanes, s.part[p]);
      X::put(reinterpret_cast<T*>(x_) + i, s, Stores{false});
    };
    int64_t i = 0;
    for (; i + kTile <= count; i += kTile) put_sums(i, sums.at(i));
    if (i < count) put_sums(i, PaddedSums<X>(sums, i, count - i).at(0));
  }

  // The multiplier of a row, for each of its elements. The sum has the shape of SumOfSquares, less
  // the lanes that hold nothing.
  void normalise(int64_t row, int64_t r) {
    const int64_t n = args_.n;
    const float* const s = sums_ + r * n;
    float lane[kSumLanes];
    for (int64_t j = 0; j < n; ++j) lane[j] = s[j] * s[j];
    for (int64_t half = kSumLanes / 2; half > 0; half /= 2)
      for (int64_t j = 0; j + half < n && j < half; ++j) lane[j] += lane[j + half];
    const float rstd = rstd_of(lane[0], n, static_cast<float>(args_.epsilon));
    for (int64_t j = 0; j < n; ++j) rstd_[r * n + j] = rstd;
    store_rstd(args_, row, rstd);
  }

  void write_codes(int o, int64_t row, int64_t rows) {
    if (args_.quantizers[o].scale.data == nullptr)
      std::memset(x_, 0, sizeof x_);
    else
      with_codes(args_.codes, by_[o], 0, kTile, x_, Stores{false}, [&](const auto& codes) {
        for (int64_t i = 0; i < rows * args_.n; i += kTile)
          codes.put(i, Float32<WholeLoads>::load(unaligned(sums_ + i)));
      });
    put(Kernel::kY1 + o, row, rows, x_, 1);
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
  alignas(64) float gamma_[kMost] = {}, beta_[kMost] = {};
  alignas(64) float weights_[2][2][kMost] = {};
  Affine by_[2];
  alignas(64) char x_[kMost * 4];  // and codes after it
  Buffer<kMost * kItem> read_[2], written_;
};

void norm_direct(const Args& args) {
  visit_float(args.dtype, halves_help(args.tensors[Kernel::kX1].data, 0, args.stream), [&](auto x) {
    using X = decltype(x);
    args.dynamic ? run_apart<DynamicNorm<X>>(args) : run_apart<ScaledNorm<X>>(args);
  });
}

// In strips of the outputs of x's shape, which are all tensors from x to the norm.
void norm_transposed(const Args& args) {
  constexpr int kOutputs = Kernel::kRstd - Kernel::kX;
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
    for (Strided& tensor : part.tensors) tensor = tensor.from(row, 0);
    for (int o = 0; o < kOutputs; ++o) part.tensors[Kernel::kX + o] = to[o];
    part.stream = false;
    norm_direct(part);
  });
}

}  // namespace

template <>
void RmsNormKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  constexpr int64_t kShort = 32;  // a row of more elements takes less time by itself
  if (args.n > 0 && args.n < kShort && args.rows > 1 && !args.dynamic)
    return visit_float_with<WholeLoads>(args.dtype,
                                        [&](auto x) { run_apart<ShortNorm<decltype(x)>>(args); });
  for (int tensor = kX; tensor < kRstd; ++tensor)
    if (is_transposed(args.tensors[tensor])) return norm_transposed(args);
  norm_direct(args);
}

}  // namespace npu_quant
