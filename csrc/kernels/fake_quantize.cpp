// The fake quantizers (docs/numerics.md 6), as PyTorch computes them on a CPU:
//   q = zero_point + rint(x * (1 / scale))     c = clamp(q, quant_min, quant_max)
//   output = (c - zero_point) * scale          mask = q == c     backward: grad * mask
// and with a zero point that is no integer:
//   q = rint(zero_point + x * (1 / scale))     output = (c - zero_point) * scale in float64
#include "kernels/fake_quantize.h"

#include "kernels/affine.h"

namespace npu_quant {
namespace {

struct Range {
  F32 least, greatest;

  // NaN becomes the least.
  NPU_QUANT_INLINE F32 clamp(F32 q) const { return min(max(q, least), greatest); }
};

struct IntegerZeroPoint {
  static NPU_QUANT_INLINE F32 quantize(F32 v, F32 zero_point) { return zero_point + rint(v); }
  static NPU_QUANT_INLINE F32 dequantize(F32 c, F32 zero_point, F32 scale) {
    return (c - zero_point) * scale;
  }
};

struct FloatZeroPoint {
  // An integer in PyTorch: never -0.
  static NPU_QUANT_INLINE F32 quantize(F32 v, F32 zero_point) {
    return rint(zero_point + v) + 0.0f;
  }
  static NPU_QUANT_INLINE F32 dequantize(F32 c, F32 zero_point, F32 scale) {
    F32 y;
    for (int half = 0; half < 2; ++half) {
      const Half h = __builtin_convertvector(
          (wide(c, half) - wide(zero_point, half)) * wide(scale, half), Half);
      std::memcpy(reinterpret_cast<char*>(&y) + half * sizeof h, &h, sizeof h);
    }
    return y;
  }

 private:
  using Half = Vec<float, kVectorBytes / 2>;
  static NPU_QUANT_INLINE Vec<double> wide(F32 v, int half) {
    const auto* from = reinterpret_cast<const char*>(&v) + half * sizeof(Half);
    return __builtin_convertvector(load<Half>(from), Vec<double>);
  }
};

template <class X, class Y, class ZeroPoint, bool with_mask>
struct FakeQuantize {
  static constexpr bool kReadsMask = false, kWritesMask = with_mask;
  Range range;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    const Tile x = X::load(tile.x);
    Tile q, c, y;
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(kScale, i), zero_point = parameters(kZeroPoint, i);
      q.part[i] = ZeroPoint::quantize(x.part[i] * parameters.reciprocal(i), zero_point);
      c.part[i] = range.clamp(q.part[i]);
      y.part[i] = ZeroPoint::dequantize(c.part[i], zero_point, scale);
    }
    Y::template put<Store>(tile.y, y);
    if constexpr (with_mask) store(tile.written_mask, ones_where_equal(q.part, c.part));
  }
};

template <class X, class Y, bool with_mask>
struct Copy {
  static constexpr bool kReadsMask = false, kWritesMask = with_mask;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters&, const Piece& tile) const {
    Y::template put<Store>(tile.y, X::load(tile.x));
    if constexpr (with_mask) store(tile.written_mask, I8{} + 1);
  }
};

template <class X>
struct Mask {
  static constexpr bool kReadsMask = true, kWritesMask = false;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters&, const Piece& tile) const {
    Tile v = X::load(tile.x);
    I32 mask[4];
    Uint8Elements::load(tile.read_mask, mask);
    for (int i = 0; i < 4; ++i) v.part[i] *= mask[i] != 0 ? F32{} + 1 : F32{};
    X::template put<Store>(tile.y, v);
  }
};

template <class X, class Y, class ZeroPoint, bool with_mask>
void fake_quantize(const FakeQuantizeKernel::Args& args, const ElementwiseArgs& rows) {
  const FakeQuantize<X, Y, ZeroPoint, with_mask> rule{
      {broadcast(args.quant_min), broadcast(args.quant_max)}};
  map_affine<typename X::Storage, typename Y::Storage>(
      rows, {args.scale, args.inverse, args.zero_point},
      [&](const auto& use, const auto& parameters) { use(rule, parameters); });
}

template <class X, class Y, bool with_mask>
void visit_rule(const FakeQuantizeKernel::Args& args) {
  const ElementwiseArgs rows{args.rows, args.n, args.x, {}, args.output, args.mask, args.stream};
  if (!args.enabled)
    return map_rows<typename X::Storage, typename Y::Storage>(
        rows, false,
        [](int64_t, int64_t, int64_t, auto use) { use(Copy<X, Y, with_mask>{}, PerRow<0>{}); });
  if constexpr (__is_same(X, Y))
    if (args.float_zero_point) return fake_quantize<X, Y, FloatZeroPoint, with_mask>(args, rows);
  fake_quantize<X, Y, IntegerZeroPoint, with_mask>(args, rows);
}

template <class X>
void visit_output(const FakeQuantizeKernel::Args& args) {
  if (args.mask.data == nullptr) return visit_rule<X, X, false>(args);
  if (args.output_dtype == args.x_dtype) return visit_rule<X, X, true>(args);
  if (args.output_dtype == DType::float16) return visit_rule<X, Float16Elements, true>(args);
  if (args.output_dtype == DType::bfloat16) return visit_rule<X, BFloat16Elements, true>(args);
  if constexpr (sizeof(typename X::Storage) < sizeof(float))
    visit_rule<X, Float32Elements<WholeLoads>, true>(args);
}

}  // namespace

template <>
void FakeQuantizeKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_elements(args.x_dtype, args.x.data, args.stream,
                       [&](auto x) { visit_output<decltype(x)>(args); });
}

template <>
void FakeQuantizeBackwardKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  const ElementwiseArgs rows{args.rows,       args.n, args.grad,  args.mask,
                             args.grad_input, {},     args.stream};
  visit_float_elements(args.dtype, args.grad.data, args.stream, [&](auto x) {
    using Storage = typename decltype(x)::Storage;
    map_rows<Storage, Storage>(rows, false, [](int64_t, int64_t, int64_t, auto use) {
      use(Mask<decltype(x)>{}, PerRow<0>{});
    });
  });
}

}  // namespace npu_quant
