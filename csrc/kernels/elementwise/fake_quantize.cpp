// The fake quantizers (docs/numerics.md 6), as PyTorch computes them on a CPU:
//   q = zero_point + rint(x * (1 / scale))     c = clamp(q, quant_min, quant_max)
//   output = (c - zero_point) * scale          mask = q == c     backward: grad * mask
// and with a zero point that is no integer:
//   q = rint(zero_point + x * (1 / scale))     output = (c - zero_point) * scale in float64
#include "kernels/elementwise/loop.h"

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

template <class InType, class OutType, class ZeroPoint>
struct FakeQuantize {
  using X = InType;
  using Y = OutType;
  static constexpr int kParameters = 3;
  Range range;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    const Tile x = X::load(tile.x());
    Tile q, c, y;
    for (int i = 0; i < 4; ++i) {
      const F32 zero_point = parameters(FakeQuantizeKernel::kZeroPoint, i);
      q.part[i] =
          ZeroPoint::quantize(x.part[i] * parameters(FakeQuantizeKernel::kInverse, i), zero_point);
      c.part[i] = range.clamp(q.part[i]);
      y.part[i] =
          ZeroPoint::dequantize(c.part[i], zero_point, parameters(FakeQuantizeKernel::kScale, i));
    }
    Y::put(tile.y(), y, tile.stores);
    if (tile.piece.written_mask != nullptr)
      store(tile.written_mask(), ones_where_equal(q.part, c.part));
  }
};

template <class InType, class OutType>
struct Copy {
  using X = InType;
  using Y = OutType;
  static constexpr int kParameters = 0;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters&, const TileAt& tile) const {
    Y::put(tile.y(), X::load(tile.x()), tile.stores);
    if (tile.piece.written_mask != nullptr) store(tile.written_mask(), I8{} + 1);
  }
};

template <class InType>
struct Mask {
  using X = InType;
  using Y = InType;
  static constexpr int kParameters = 0;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters&, const TileAt& tile) const {
    Tile v = X::load(tile.x());
    I32 mask[4];
    Uint8::load(tile.read_mask(), mask);
    for (int i = 0; i < 4; ++i) v.part[i] *= mask[i] != 0 ? F32{} + 1 : F32{};
    Y::put(tile.y(), v, tile.stores);
  }
};

template <class X, class Y>
void map_values(const FakeQuantizeKernel::Args& args) {
  const Range range{broadcast(args.quant_min), broadcast(args.quant_max)};
  if (!args.enabled) return map_rows(args.work, Copy<X, Y>{});
  if constexpr (__is_same(X, Y))
    if (args.float_zero_point)
      return map_rows(args.work, FakeQuantize<X, Y, FloatZeroPoint>{range});
  map_rows(args.work, FakeQuantize<X, Y, IntegerZeroPoint>{range});
}

}  // namespace

template <>
void FakeQuantizeKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  visit_float(args.x_dtype, args.work.stream, [&](auto x) {
    using X = decltype(x);
    if (args.y_dtype == args.x_dtype) return map_values<X, X>(args);
    visit_float_with<WholeLoads>(args.y_dtype, [&](auto y) {
      using Y = decltype(y);
      if constexpr (sizeof(typename X::Storage) != 4 || sizeof(typename Y::Storage) != 4)
        if constexpr (!__is_same(X, Y)) map_values<X, Y>(args);
    });
  });
}

template <>
void FakeQuantizeBackwardKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  visit_float(args.dtype, args.work.stream,
              [&](auto x) { map_rows(args.work, Mask<decltype(x)>{}); });
}

}  // namespace npu_quant
