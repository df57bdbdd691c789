// npu_swiglu and its relatives (docs/numerics.md 17): values of gated linear units (source.h), then
// these rounded to x's dtype, or codes by scales and zero points, or of each row by a scale of its
// own.
//   y = enc(v / scale + zero_point), or v * scale; NaN gives 0
#include "kernels/glu/glu.h"

#include "kernels/dynamic/reduce.h"
#include "kernels/glu/source.h"
#include "kernels/rows/strips.h"

namespace npu_quant {
namespace {

using Becomes = GluKernel::Becomes;

// Codes, a byte each, of n values by the weights from element `first` on.
__attribute__((noinline)) void encode_by_weights(const float* v, int64_t n, const Affine& affine,
                                                 const Weights<2>& weights, int64_t first,
                                                 char* y) {
  const ToCodes<FormulaCodes> to{affine, y, 0, Stores{false}};
  const auto tile = [&](int64_t i) { return Float32<WholeLoads>::load(unaligned(v + i)); };
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) to.put(0, i, to.at(weights.at, first + i), tile(i));
  if (i == n) return;
  if (const int64_t back = n - kTile; back >= 0)
    return to.put_part(0, back, i, n, to.at(weights.at, first + back), tile(back));
  const Weights<2> padded(weights.at, first, n);
  to.put_part(0, 0, 0, n, to.at(padded.at, 0), tile(0));
}

// What becomes of the values of rows, in pieces of kPiece elements by way of a buffer.
class GluResults {
 public:
  explicit GluResults(const GluKernel::Args& args)
      : args_(args),
        weights_({&args.scale, &args.zero_point}),
        y_(args.y, args.becomes == Becomes::values ? size_of(args.dtype) : 1, written_, args.stream,
           true) {
    weights_.fill_in(kScale, 1);
    weights_.fill_in(kZeroPoint, -0.0f);
  }

  bool are_wanted() const { return y_.is_wanted(); }

  // What comes is a row whose values have this amax; without one it has a scale of 0.
  void begin(int64_t row, const float* amax) {
    amax_ = amax == nullptr ? 0 : *amax;
    store_scale(args_.scales, row, 0, amax == nullptr ? 0 : scale_of(args_.rule, amax_));
  }
  // Values [i, i + n) of the row.
  __attribute__((noinline)) void put(int64_t row, int64_t i, int64_t n, const float* v) {
    for (const int64_t end = i + n; i < end; i += kPiece, v += kPiece) {
      const int64_t count = least(end - i, kPiece);
      put_piece(v, count, i, y_.at(row, i));
      y_.put(row, i, count);
    }
  }

 private:
  void put_piece(const float* v, int64_t n, int64_t first, char* y) const {
    switch (args_.becomes) {
      case Becomes::values: return put_rounded(v, n, y);
      case Becomes::codes_by_scales:
        return encode_by_weights(v, n, affine(args_.divide), weights_, first, y);
      case Becomes::codes_by_amax:
        return args_.y.packed() ? encode_packed(v, n, y) : encode_bytes(v, n, y);
      case Becomes::zeros: std::memset(y, 0, static_cast<size_t>(n)); return;
    }
    __builtin_trap();
  }

  void put_rounded(const float* v, int64_t n, char* y) const {
    visit_float_with<WholeLoads>(args_.dtype, [&](auto x) {
      using X = decltype(x);
      put_values<X>(v, n, reinterpret_cast<typename X::Storage*>(y));
    });
  }

  Affine affine(bool divides) const { return {args_.codes, divides, false, args_.rounding}; }

  // Codes of the row's own scale: in bytes by the fastest form that is exact.
  void encode_bytes(const float* v, int64_t n, char* y) const {
    using In = Float32<WholeLoads>;
    ResultStream to(false, {}, n);
    visit_byte_code(args_.codes, [&](auto code) {
      using Code = decltype(code);
      encode_piece<In, Code>(unaligned(v), n, y, to,
                             divider_of<In, Code, int32_t>(args_.rule, amax_), Nothing{});
    });
  }
  void encode_packed(const float* v, int64_t n, char* y) const {
    const bool divides = !multiplies(args_.rule);
    float by = divides ? scale_of(args_.rule, amax_) : multiplier_of(args_.rule, amax_);
    float nothing = -0.0f;
    const Strided scale{reinterpret_cast<char*>(&by)}, offset{reinterpret_cast<char*>(&nothing)};
    encode_by_weights(v, n, affine(divides), Weights<2>({&scale, &offset}), 0, y);
  }

  const GluKernel::Args& args_;
  Weights<2> weights_;
  Sink y_;
  float amax_ = 0;  // of the row
  Buffer<kPiece * 4> written_;
};

// The rows of a call. One of more values than there is room for is made twice where its amax comes
// first.
template <class Half>
class Glu {
 public:
  explicit Glu(const GluKernel::Args& args) : args_(args), rows_(args), results_(args) {}

  void run() {
    for (int64_t row = 0; row < args_.rows; ++row) make(row);
    if (args_.stream) stream_fence();
  }

 private:
  void make(int64_t row) {
    const int64_t width = most(least(args_.n, kMostValues), 1);
    const bool has_amax = args_.becomes == Becomes::codes_by_amax;
    const bool is_read = args_.becomes != Becomes::zeros;
    AmaxFloat32 amax;
    const auto fill = [&](int64_t i) {
      rows_.fill(row, i, least(args_.n - i, width), values_, amax);
    };
    for (int64_t i = 0; has_amax && i < args_.n; i += width) fill(i);
    const float greatest = AmaxFloat32::value(amax.bits());
    results_.begin(row, has_amax ? &greatest : nullptr);
    for (int64_t i = 0; results_.are_wanted() && i < args_.n; i += width) {
      if (is_read && (!has_amax || width < args_.n)) fill(i);
      results_.put(row, i, least(args_.n - i, width), values_);
    }
  }

  const GluKernel::Args& args_;
  GluRows<Half> rows_;
  GluResults results_;
  alignas(64) float values_[kMostValues + kTile];
};

void glu_direct(const GluKernel::Args& args) {
  if (args.dtype == DType::int32) return run_apart<Glu<IntegerHalf>>(args);
  visit_float_with<WholeLoads>(args.dtype,
                               [&](auto x) { run_apart<Glu<FloatHalf<decltype(x)>>>(args); });
}

// In strips of y.
void glu_transposed(const GluKernel::Args& args) {
  const int64_t item = args.becomes == Becomes::values ? size_of(args.dtype) : 1;
  Strips<1> strips(args.rows, args.n, args.n, {args.y}, {item});
  if (!strips.has_memory()) return glu_direct(args);
  strips.run(args.stream, [&](int64_t row, int64_t rows, int64_t, int64_t, const Strided* y) {
    GluKernel::Args part = args;
    part.rows = rows;
    Strided* const of_rows[] = {&part.gate.x, &part.factor.x, &part.activation_scale, &part.scales};
    for (Strided* of : of_rows) *of = of->from(row, 0);
    part.y = y[0];
    part.stream = false;
    glu_direct(part);
  });
}

}  // namespace

template <>
void GluKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (is_transposed(args.y) && args.n > 0) return glu_transposed(args);
  glu_direct(args);
}

}  // namespace npu_quant
