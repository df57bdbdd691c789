// npu_swiglu and its relatives (docs/numerics.md 17): values of gated linear units (source.h), then
// these rounded to x's dtype, or codes by scales and zero points, or of each row by a scale of its
// own, or of blocks of it (docs/numerics.md 23).
//   y = enc(v / scale + zero_point), or v * scale; NaN gives 0
//   amax = max(|v| that are finite, least), scale = amax / MAX, y = enc(v * (MAX / amax))
#include "kernels/glu/glu.h"

#include "kernels/dynamic/reduce.h"
#include "kernels/glu/source.h"
#include "kernels/rows/strips.h"

namespace npu_quant {

// mx/rows.cpp may come later in what is compiled as one file.
template <>
void MxRowsKernel::run<kTarget>(const Args& args);

namespace {

using Becomes = GluKernel::Becomes;
using Value = Float32<WholeLoads>;

// Codes, a byte each, of n values by the weights from element `first` on.
__attribute__((noinline)) void encode_by_weights(const float* v, int64_t n, const Affine& affine,
                                                 const Weights<2>& weights, int64_t first,
                                                 char* y) {
  const ToCodes<FormulaCodes> to{affine, y, 0, Stores{false}};
  const auto tile = [&](int64_t i) { return Value::load(unaligned(v + i)); };
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) to.put(0, i, to.at(weights.at, first + i), tile(i));
  if (i == n) return;
  if (const int64_t back = n - kTile; back >= 0)
    return to.put_part(0, back, i, n, to.at(weights.at, first + back), tile(back));
  const Weights<2> padded(weights.at, first, n);
  to.put_part(0, 0, 0, n, to.at(padded.at, 0), tile(0));
}

// The greatest magnitude of n values that are finite, and of `least`.
NPU_QUANT_INLINE float finite_amax(const float* v, int64_t n, float least) {
  I32 greatest = I32{} + bit_cast<int32_t>(least);
  for (int64_t i = 0; i < n; i += kLanes) {
    const F32 values =
        i + kLanes <= n ? load<F32>(v + i) : load<F32>(Padded<float, kLanes>(v + i, n - i).values);
    const I32 bits = magnitude_bits(values);
    greatest = max(greatest, bits < kInfinityBits ? bits : I32{});
  }
  return bit_cast<float>(horizontal_max<int32_t, kVectorBytes>(greatest));
}

// The least power of 2 that is not less than a normal number.
NPU_QUANT_INLINE float power_above(float scale) {
  constexpr int32_t kFraction = (1 << 23) - 1;
  return bit_cast<float>((bit_cast<int32_t>(scale) + kFraction) & ~kFraction);
}

// What becomes of the values of rows, in pieces of kPiece elements by way of a buffer.
class GluResults {
 public:
  explicit GluResults(const GluKernel::Args& args)
      : args_(args),
        weights_({&args.scale, &args.zero_point}),
        y_(args.y, args.becomes == Becomes::values ? size_of(args.dtype) : 1, written_, args.stream,
           true),
        origin_(args.origin, size_of(args.dtype), written_, args.stream, true) {
    weights_.fill_in(kScale, 1);
    weights_.fill_in(kZeroPoint, -0.0f);
  }

  // Beside the scales of rows, for which an amax is enough.
  bool are_wanted() const { return y_.is_wanted() || origin_.is_wanted() || args_.block > 0; }

  // What comes is a row whose values have this amax; without one it has a scale of 0.
  void begin(int64_t row, const float* amax) {
    if (args_.block > 0) return;
    amax_ = amax == nullptr ? 0 : *amax;
    store_scale(args_.scales, row, 0, amax == nullptr ? 0 : scale_of(args_.rule, amax_));
  }
  // Values [i, i + n) of the row.
  __attribute__((noinline)) void put(int64_t row, int64_t i, int64_t n, const float* v) {
    for (const int64_t end = i + n; i < end; i += kPiece, v += kPiece) {
      const int64_t count = least(end - i, kPiece);
      put_piece(v, count, row, i, y_.at(row, i));
      y_.put(row, i, count);
      if (!origin_.is_wanted()) continue;
      put_origin(v, count, origin_.at(row, i));
      origin_.put(row, i, count);
    }
  }

 private:
  void put_piece(const float* v, int64_t n, int64_t row, int64_t first, char* y) const {
    switch (args_.becomes) {
      case Becomes::values: return put_rounded(v, n, y);
      case Becomes::codes_by_scales:
        return encode_by_weights(v, n, affine(args_.divide), weights_, first, y);
      case Becomes::codes_by_amax:
        return args_.y.packed() ? encode_packed(v, n, y) : encode_bytes(v, n, y);
      case Becomes::codes_by_blocks: return encode_blocks(v, n, row, first, y);
      case Becomes::codes_by_mx: return encode_mx(v, n, row, first, y);
      case Becomes::zeros:
        clear_scales(n, row, first);
        std::memset(y, 0, static_cast<size_t>(n));
        return;
    }
    __builtin_trap();
  }

  void put_origin(const float* v, int64_t n, char* to) const {
    if (args_.becomes != Becomes::zeros) return put_rounded(v, n, to);
    std::memset(to, 0, static_cast<size_t>(n * size_of(args_.dtype)));
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
    visit_byte_code(args_.codes, [&](auto code) {
      using Code = decltype(code);
      encode_by<Code>(divider_of<Value, Code, int32_t>(args_.rule, amax_), v, n, y);
    });
  }
  template <class Code>
  static void encode_by(const Divider<float, int32_t>& divider, const float* v, int64_t n,
                        char* y) {
    ResultStream to(false, {}, n);
    encode_apart<Value, Code>(unaligned(v), n, y, to, divider);
  }
  void encode_packed(const float* v, int64_t n, char* y) const {
    const bool divides = !multiplies(args_.rule);
    float by = divides ? scale_of(args_.rule, amax_) : multiplier_of(args_.rule, amax_);
    float nothing = -0.0f;
    const Strided scale{reinterpret_cast<char*>(&by)}, offset{reinterpret_cast<char*>(&nothing)};
    encode_by_weights(v, n, affine(divides), Weights<2>({&scale, &offset}), 0, y);
  }

  // By the formula, which is right for what is not finite, too.
  void encode_blocks(const float* v, int64_t n, int64_t row, int64_t first, char* y) const {
    visit_byte_code(args_.codes, [&](auto code) {
      for (int64_t i = 0; i < n; i += args_.block) {
        const int64_t count = least(n - i, args_.block);
        const float amax = finite_amax(v + i, count, args_.least_amax);
        float scale = scale_of(args_.rule, amax), by = multiplier_of(args_.rule, amax);
        if (args_.rounds_scales) scale = power_above(scale), by = 1 / scale;
        store_scale(args_.scales, row, (first + i) / args_.block, scale);
        encode_by<decltype(code)>({scale, by, kProduct}, v + i, count, y + i);
      }
    });
  }
  void encode_mx(const float* v, int64_t n, int64_t row, int64_t first, char* y) const {
    char* const values = const_cast<char*>(reinterpret_cast<const char*>(v));
    MxRowsKernel::run<kTarget>({.dtype = DType::float32,
                                .format = args_.codes,
                                .rows = 1,
                                .n = n,
                                .block = args_.block,
                                .x = {values, 0, sizeof *v},
                                .y = {y, 0, 1},
                                .scales = args_.mx_scales.from(row, first / (2 * args_.block)),
                                .rule = args_.mx_rule,
                                .rounding = args_.rounding,
                                .stream = false});
  }
  void clear_scales(int64_t n, int64_t row, int64_t first) const {
    if (args_.block == 0) return;
    for (int64_t b = first / args_.block; b * args_.block < first + n; ++b)
      store_scale(args_.scales, row, b, 0);
    const MxScales& to = args_.mx_scales;
    if (to.data == nullptr) return;
    const int64_t pair = 2 * args_.block;
    for (int64_t p = first / pair; p * pair < first + n; ++p)
      for (int lane = 0; lane < 2; ++lane) to.from(row, p).data[lane * to.lane_stride] = 0;
  }

  const GluKernel::Args& args_;
  Weights<2> weights_;
  Sink y_, origin_;  // by the same buffer, one after the other
  float amax_ = 0;   // of the row
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
    Strided* const of_rows[] = {&part.gate.x, &part.factor.x, &part.activation_scale,
                                &part.weight, &part.scales,   &part.origin};
    for (Strided* of : of_rows) *of = of->from(row, 0);
    part.mx_scales = args.mx_scales.from(row, 0);
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
