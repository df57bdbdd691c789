// npu_quantize (docs/numerics.md 8):
//   y = rint(x / scale + zero_point)     or  rint(x * scale + zero_point), saturated; NaN gives 0
//                                        of floats: the nearest code
// and aclnnAscendQuant (docs/numerics.md 10):
//   y = round(x * scale + zero_point)    or  round(x * scale * scale + zero_point), round as named
#include "kernels/quantize.h"

#include "kernels/elementwise.h"
#include "kernels/quotient.h"

namespace npu_quant {
namespace {

enum { kScale, kZeroPoint, kFactor, kOffset };

template <class Y>
inline constexpr bool kIsByte = sizeof(typename Y::Storage) == 1;
template <class Y>
inline constexpr float kStepsOf = kIsByte<Y> ? kStepsPerCode : 1;

template <class InType, class Code>
struct QuantizeByProduct {
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

// The first of three forms that is certain of a whole tile (quotient.h): one multiplication, which
// is for bytes; a corrected one, which NaN, infinities and quotients beyond float32 fail; the
// formula.
template <class InType, class Code>
struct QuantizeByQuotient {
  using X = InType;
  using Y = Code;
  static constexpr int kParameters = kIsByte<Y> ? 4 : 3;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    const Tile x = X::load(tile.x());
    Tile q;
    if constexpr (kIsByte<Y>) {
      for (int i = 0; i < 4; ++i)
        q.part[i] = steps_of_sum(x.part[i], parameters(kFactor, i), parameters(kOffset, i));
      if (Y::put_floors(tile.y(), q, tile.stores)) return;
    }
    if constexpr (kHasFma) {
      for (int i = 0; i < 4; ++i)
        q.part[i] = corrected_quotient(x.part[i], parameters(kScale, i),
                                       parameters(kFactor, i) / kStepsOf<Y>) +
                    parameters(kZeroPoint, i);
      if (Y::put_ordinary(tile.y(), q, tile.stores)) return;
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

// To codes that take longer than a division, whose sign of zero the other forms would lose; with
// any rounding to int4.
template <class InType>
struct QuantizeSmall {
  using X = InType;
  using Y = SmallCode;
  static constexpr int kParameters = 2;
  Format format;
  bool divide, twice;
  Rounding rounding;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile q = X::load(tile.x());
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(kScale, i);
      q.part[i] = divide ? q.part[i] / scale : q.part[i] * scale;
      if (twice) q.part[i] *= scale;
      q.part[i] += parameters(kZeroPoint, i);
      if (rounding != Rounding::to_even) q.part[i] = rounded(q.part[i], rounding);
    }
    Y::put(format, tile.y(), q, tile.stores);
  }
};

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

// The factor and the offset of a scale and a zero point, floats or vectors of them.
template <class Y, class F>
NPU_QUANT_INLINE void put_steps(const StepsKernel::Args& args, int64_t i) {
  const F scale = load<F>(args.scale + i * 4), zero_point = load<F>(args.zero_point + i * 4);
  const bool is_plain = is_plain_integer(args.codes);
  store(args.factor + i * 4,
        is_plain ? factor_of(scale, kStepsOf<Y>) : factor_beside(scale, zero_point));
  if constexpr (kIsByte<Y>)
    store(args.offset + i * 4, offset_of(zero_point, Y::kLeast, Y::kGreatest));
}

}  // namespace

template <>
void StepsKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_plain_integer(args.codes, [&](auto y) {
    using Y = decltype(y);
    int64_t i = 0;
    for (; i + kLanes <= args.count; i += kLanes) put_steps<Y, F32>(args, i);
    for (; i < args.count; ++i) put_steps<Y, float>(args, i);
  });
}

template <>
void QuantizeKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  ElementwiseArgs rows = rows_of(args, args.x, args.y);
  rows.parameters[kScale] = args.scale;
  rows.parameters[kZeroPoint] = args.zero_point;
  rows.parameters[kFactor] = args.factor;
  rows.parameters[kOffset] = args.offset;
  visit_float(args.x_dtype, args.stream, [&](auto x) {
    using X = decltype(x);
    if (!is_plain_integer(args.codes))
      return map_rows(rows, QuantizeSmall<X>{args.codes, args.divide, args.twice, args.rounding});
    if (args.twice || args.rounding != Rounding::to_even)
      return map_rows(rows, AscendQuant<X>{args.twice, args.rounding});
    visit_plain_integer(args.codes, [&](auto y) {
      using Y = decltype(y);
      args.divide ? map_rows(rows, QuantizeByQuotient<X, Y>{})
                  : map_rows(rows, QuantizeByProduct<X, Y>{});
    });
  });
}

}  // namespace npu_quant
