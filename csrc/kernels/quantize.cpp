// npu_quantize (docs/numerics.md 8):
//   y = rint(x / scale + zero_point)     or  rint(x * scale + zero_point), saturated; NaN gives 0
// and aclnnAscendQuant (docs/numerics.md 10):
//   y = round(x * scale + zero_point)    or  round(x * scale * scale + zero_point), round as named
#include "kernels/quantize.h"

#include "kernels/elementwise.h"
#include "kernels/quotient.h"

namespace npu_quant {
namespace {

enum { kScale, kZeroPoint, kInverse };

template <class InType, class Code>
struct Multiply {
  using X = InType;
  using Y = Code;
  static constexpr int kParameters = 2;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile q = X::load(tile.x());
    for (int i = 0; i < 4; ++i)
      q.part[i] = q.part[i] * parameters(kScale, i) + parameters(kZeroPoint, i);
    put_with_zero_for_nan<Y>(tile.y(), q, tile.stores);
  }
};

// By a reciprocal, where that is exact for all scales. A tile with anything out of the ordinary is
// divided: so are infinities and quotients beyond float32, which the correction turns into NaN.
template <class InType, class Code>
struct Divide {
  using X = InType;
  using Y = Code;
  static constexpr int kParameters = 3;
  bool by_reciprocal;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    const Tile x = X::load(tile.x());
    Tile q;
    if constexpr (kHasFma) {
      for (int i = 0; i < 4; ++i)
        q.part[i] = corrected_quotient(x.part[i], parameters(kScale, i), parameters(kInverse, i)) +
                    parameters(kZeroPoint, i);
      if (__builtin_expect(by_reciprocal, true) && Y::put_ordinary(tile.y(), q, tile.stores))
        return;
    }
    for (int i = 0; i < 4; ++i)
      q.part[i] = x.part[i] / parameters(kScale, i) + parameters(kZeroPoint, i);
    put_with_zero_for_nan<Y>(tile.y(), q, tile.stores);
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
template <class InType>
struct AscendQuant {
  using X = InType;
  using Y = Int8;
  static constexpr int kParameters = 2;
  bool twice;
  Rounding rounding;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile q = X::load(tile.x());
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(kScale, i);
      q.part[i] *= scale;
      if (twice) q.part[i] *= scale;
      q.part[i] = rounded(q.part[i] + parameters(kZeroPoint, i), rounding);
    }
    put_with_zero_for_nan<Y>(tile.y(), q, tile.stores);
  }
};

// Within these bounds no reciprocal is subnormal, and no remainder of a quotient is that could
// matter beside the ties of a zero point.
NPU_QUANT_INLINE bool are_exact(float least_scale, float greatest_scale) {
  return least_scale >= 0x1p-50f && greatest_scale <= 0x1p100f;
}

}  // namespace

template <>
void QuantizeKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  ElementwiseArgs rows = rows_of(args, args.x, args.y);
  rows.parameters[kScale] = args.scale;
  rows.parameters[kZeroPoint] = args.zero_point;
  rows.parameters[kInverse] = args.inverse;
  visit_float(args.x_dtype, args.x.data, args.stream, [&](auto x) {
    using X = decltype(x);
    if (args.twice || args.rounding != Rounding::to_even)
      return map_rows(rows, AscendQuant<X>{args.twice, args.rounding});
    visit_code(args.y_dtype, [&](auto y) {
      using Y = decltype(y);
      if (args.divide)
        map_rows(rows, Divide<X, Y>{are_exact(args.least_scale, args.greatest_scale)});
      else
        map_rows(rows, Multiply<X, Y>{});
    });
  });
}

}  // namespace npu_quant
