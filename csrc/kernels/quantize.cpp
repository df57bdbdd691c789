// npu_quantize (docs/numerics.md 8):
//   y = rint(x / scale + zero_point)     or  rint(x * scale + zero_point), saturated; NaN gives 0
// and aclnnAscendQuant (docs/numerics.md 10):
//   y = round(x * scale + zero_point)    or  round(x * scale * scale + zero_point), round as named
#include "kernels/quantize.h"

#include "kernels/affine.h"
#include "kernels/quotient.h"

namespace npu_quant {
namespace {

// The formula itself.
template <bool divide, class Parameters>
NPU_QUANT_INLINE Tile affine(const Parameters& parameters, const Tile& x) {
  Tile q;
  for (int i = 0; i < 4; ++i) {
    const F32 scale = parameters(kScale, i);
    const F32 v = divide ? x.part[i] / scale : x.part[i] * scale;
    q.part[i] = v + parameters(kZeroPoint, i);
  }
  return q;
}

template <class X, class Y, bool divide>
struct Affine {
  static constexpr bool kReadsMask = false, kWritesMask = false;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    put_with_zero_for_nan<Y, Store>(tile.y, affine<divide>(parameters, X::load(tile.x)));
  }
};

// The same division by a reciprocal, for scales it is exact for. A tile with anything out of the
// ordinary is divided: so are infinities and quotients beyond float32, which the correction turns
// into NaN.
template <class X, class Y>
struct AffineByReciprocal {
  static constexpr bool kReadsMask = false, kWritesMask = false;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    const Tile x = X::load(tile.x);
    Tile q;
    for (int i = 0; i < 4; ++i)
      q.part[i] = corrected_quotient(x.part[i], parameters(kScale, i), parameters.reciprocal(i)) +
                  parameters(kZeroPoint, i);
    if (Y::template put_ordinary<Store>(tile.y, q)) return;
    put_with_zero_for_nan<Y, Store>(tile.y, affine<true>(parameters, x));
  }
};

NPU_QUANT_INLINE F32 rounded(F32 v, Rounding rounding) {
  switch (rounding) {
    case Rounding::floor: return floor(v);
    case Rounding::ceil: return ceil(v);
    case Rounding::trunc: return trunc(v);
    case Rounding::to_even: break;
  }
  return rint(v);
}

// By a multiplication or two, to int8, with any rounding.
template <class X>
struct AscendQuant {
  static constexpr bool kReadsMask = false, kWritesMask = false;
  bool twice;
  Rounding rounding;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    Tile q = X::load(tile.x);
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(kScale, i);
      q.part[i] *= scale;
      if (twice) q.part[i] *= scale;
      q.part[i] = rounded(q.part[i] + parameters(kZeroPoint, i), rounding);
    }
    put_with_zero_for_nan<Int8Elements, Store>(tile.y, q);
  }
};

// Within these bounds no reciprocal is subnormal, nor the remainder of a quotient that is not
// negligible beside any zero point's ties.
NPU_QUANT_INLINE bool are_exact(float least_scale, float greatest_scale) {
  return kHasFma && least_scale >= 0x1p-50f && greatest_scale <= 0x1p100f;
}

template <class X, class Y, bool divide>
void quantize(const QuantizeKernel::Args& args) {
  const ElementwiseArgs rows{args.rows, args.n, args.x, {}, args.y, {}, args.stream};
  const bool by_reciprocal = divide && are_exact(args.least_scale, args.greatest_scale);
  map_affine<typename X::Storage, typename Y::Storage>(
      rows, {args.scale, args.inverse, args.zero_point},
      [&](const auto& use, const auto& parameters) {
        if constexpr (divide && kHasFma)
          if (by_reciprocal) return use(AffineByReciprocal<X, Y>{}, parameters);
        if constexpr (!divide && __is_same(Y, Int8Elements))
          if (args.twice || args.rounding != Rounding::to_even)
            return use(AscendQuant<X>{args.twice, args.rounding}, parameters);
        use(Affine<X, Y, divide>{}, parameters);
      });
}

}  // namespace

template <>
void QuantizeKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_elements(args.x_dtype, args.x.data, args.stream, [&](auto x) {
    visit_code_elements(args.y_dtype, [&](auto y) {
      if (args.divide)
        quantize<decltype(x), decltype(y), true>(args);
      else
        quantize<decltype(x), decltype(y), false>(args);
    });
  });
}

}  // namespace npu_quant
