// npu_add_rms_norm_quant (docs/numerics.md 5) and its relatives: a norm (source.h), itself or codes
// of it, by scales and zero points, or of each row by a scale of its own.
//   y = rint(t / scale + zero_point), or t * scale; NaN gives 0; of floats: the nearest code
#include "kernels/norm/rms_norm.h"

#include "kernels/dynamic/reduce.h"
#include "kernels/norm/short_rows.h"
#include "kernels/norm/source.h"
#include "kernels/rows/strips.h"

namespace npu_quant {

namespace {

// Norms, and codes by scales: of 4 rows together, in pieces of 512 elements, for which the weights
// are then in L1; fewer rows where L2 does not hold them and those to come (256 KiB).
constexpr int64_t kRowsInTurn = 4, kElementsTogether = 512;
constexpr int64_t kBytesTogether = 256 << 10;

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
  // Whether several rows lie where a piece of them is read.
  bool is_direct() const { return x1_.is_direct() && x2_.is_direct(); }
  template <class To>
  To put(int64_t row, int64_t rows, int64_t i, int64_t n, const NormWeights& weights,
         const To& to) const {
    const Sums<X> sums = sums_at(row, i);
    const bool asks = args_.stream && is_direct();
    const auto ahead = [&](int64_t row_stride) {
      return asks ? static_cast<uintptr_t>(together_ * row_stride) : 0;
    };
    return norm_piece<X>(
        {sums, ahead(sums.row_stride1), sums.x2 == nullptr ? 0 : ahead(sums.row_stride2), i, n,
         rstd_ + (row - first_), rows},
        weights, to);
  }

 private:
  // x is streamed as it is computed where its rows begin at vectors, else from a buffer.
  bool streams_by_buffer() const {
    const Strided& x = args_.tensors[Kernel::kX];
    return !is_vector_aligned(x.data) || x.row_stride % kVectorBytes != 0;
  }
  Sums<X> sums_at(int64_t row, int64_t i) const {
    return {x1_.at(row, i), x2_.at(row, i), args_.tensors[Kernel::kX1].row_stride,
            args_.tensors[Kernel::kX2].row_stride};
  }

  // x of a row, and what its sums are multiplied by.
  float normalise(int64_t row) {
    SumOfSquares squares{};
    for (int64_t i = 0; i < args_.n; i += kPiece) {
      const int64_t count = least(args_.n - i, kPiece);
      fetch(row, 1, i, count);
      char* const x = x_.is_wanted() ? x_.at(row, i) : nullptr;
      add_piece<X>(sums_at(row, i), reinterpret_cast<T*>(x), count, squares,
                   Stores{args_.stream && x_.is_direct()});
      x_.put(row, i, count);
    }
    const float rstd = rstd_of(squares.template value<X>(), args_.n, epsilon_);
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
  const NormWeights& weights;

  int64_t most_elements(int64_t together) const { return rows.most_elements(together); }
  void fetch(int64_t row, int64_t together, int64_t i, int64_t n) {
    rows.fetch(row, together, i, n);
  }
  void fill(int64_t row, int64_t i, int64_t n, float* v, AmaxFloat32& amax) const {
    amax = rows.put(row, 1, i, n, weights, ToValues{v, amax}).amax;
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
        weights_{weights_of(args, 0), weights_of(args, 1)},
        branches_{{rows_, weights_[0]}, {rows_, weights_[1]}},
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
    for (auto& output : outputs_) output.flush();
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
  NormWeights weights_[2];
  Branch<X> branches_[2];
  DynamicArgs of_outputs_[2];
  DynamicValues<Branch<X>> outputs_[2];
  ValueBuffer values_;
  Buffer<> codes_;
};

// Rows whose norm is wanted, or codes of it by scales that are given.
template <class X>
class ScaledNorm {
 public:
  explicit ScaledNorm(const Args& args)
      : args_(args),
        rows_(args),
        weights_{weights_of(args, 0), weights_of(args, 1)},
        results_{{args.tensors[Kernel::kY1], 1, written_, args.stream},
                 {args.tensors[Kernel::kY2], 1, written_, args.stream},
                 {args.tensors[Kernel::kRmsNorm], NormedRows<X>::kItem, written_, args.stream}} {}

  void run() {
    int64_t fitting = kRowsInTurn;
    while (fitting > 1 && fitting * args_.n * 2 * NormedRows<X>::kItem > kBytesTogether) --fitting;
    const int64_t end = args_.n + (args_.stream ? kElementsTogether : 0);
    int64_t rows = 0;
    for (int64_t row = 0; row < args_.rows; row += rows) {
      rows = least(args_.rows - row, fitting);
      rows_.begin(row, rows);
      for (int64_t i = 0; i < end; i += kElementsTogether)
        for (int o = 0; o < kResults; ++o)
          if (results_[o].is_wanted()) write(o, row, rows, i);
    }
    if (args_.stream) stream_fence();
  }

 private:
  // Of what is written, in the order of the tensors from kY1 on.
  enum { kNorm = Kernel::kRmsNorm - Kernel::kY1, kResults };

  // Rows that lie alike have their turns, others come one after the other.
  void write(int o, int64_t row, int64_t rows, int64_t i) {
    const Sink& y = results_[o];
    const bool aligned = args_.tensors[Kernel::kY1 + o].row_stride % kVectorBytes == 0;
    const bool alike = rows_.is_direct() && y.is_direct() && (aligned || !y.takes_streams());
    const int64_t together = alike ? rows : 1;
    for (int64_t r = row; r < row + rows; r += together) write_alike(o, r, together, i);
  }
  // Elements [i, i + kElementsTogether) of some rows, or as many earlier ones as make a streamed y
  // begin at a vector.
  void write_alike(int o, int64_t row, int64_t rows, int64_t i) {
    Sink& y = results_[o];
    const Stores stores{y.takes_streams()};
    int64_t early = 0;
    if (stores.stream) {
      const int64_t item = o == kNorm ? NormedRows<X>::kItem : 1;
      const int64_t head = elements_to_alignment(y.at(row, 0), item, kElementsTogether);
      early = head == 0 ? 0 : kElementsTogether - head;
    }
    const int64_t begin = i > early ? i - early : 0;
    const int64_t n = least(args_.n, i + kElementsTogether - early) - begin;
    if (n <= 0) return;
    put(o, row, rows, begin, n, stores);
    y.put(row, begin, n);
  }
  void put(int o, int64_t row, int64_t rows, int64_t begin, int64_t n, Stores stores) {
    char* const to = results_[o].at(row, begin);
    const int64_t row_stride = args_.tensors[Kernel::kY1 + o].row_stride;
    if (o != kNorm && weights_[o].at[kScale].values == nullptr) {
      for (int64_t r = 0; r < rows; ++r) put_zeros(to + r * row_stride, n, stores);
      return;
    }
    rows_.fetch(row, 1, begin, n);
    const auto put_rows = [&](int weights, const auto& results) {
      rows_.put(row, rows, begin, n, weights_[weights], results);
    };
    const Affine affine = affine_of(args_, o == kNorm ? 0 : o);
    if (o == kNorm)
      put_rows(0, ToNorm<X>{to, row_stride, stores});
    else if (affine.has_steps)
      put_rows(o, ToCodes<StepsCodes<X>>{affine, to, row_stride, stores});
    else
      put_rows(o, ToCodes<FormulaCodes>{affine, to, row_stride, stores});
  }
  static void put_zeros(char* to, int64_t n, Stores stores) {
    int64_t i = 0;
    for (; i + kTile <= n; i += kTile) stores.put(to + i, I8{});
    std::memset(to + i, 0, static_cast<size_t>(n - i));
  }

  const Args& args_;
  NormedRows<X> rows_;
  NormWeights weights_[2];
  Sink results_[kResults];
  Buffer<> written_;  // a piece of one output at a time
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
  // A row of more elements takes less time by itself, and so do fewer rows.
  constexpr int64_t kShort = 32, kMany = 8;
  if (args.n > 0 && args.n < kShort && args.rows >= kMany && !args.dynamic)
    return visit_float_with<WholeLoads>(args.dtype,
                                        [&](auto x) { run_apart<ShortNorm<decltype(x)>>(args); });
  for (int tensor = kX; tensor < kRstd; ++tensor)
    if (is_transposed(args.tensors[tensor])) return norm_transposed(args);
  norm_direct(args);
}

}  // namespace npu_quant
