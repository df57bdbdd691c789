// npu_quantize (docs/numerics.md 8):
//   y = rint(x / scale + zero_point)     or  rint(x * scale + zero_point), saturated; NaN gives 0
//                                        of floats: the nearest code
// and aclnnAscendQuant (docs/numerics.md 10):
//   y = round(x * scale + zero_point)    or  round(x * scale * scale + zero_point), round as named
#include "kernels/dynamic/affine.h"
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

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
      q.part[i] = q.part[i] * parameters(QuantizeKernel::kScale, i) +
                  parameters(QuantizeKernel::kZeroPoint, i);
    put_with_zero_for_nan<Y>(tile.y(), q, tile.stores);
  }
};

// What a part of a tile is divided by, as kernels/dynamic/affine.h asks for it.
template <class Parameters>
struct DivisorsAt {
  const Parameters& parameters;

  NPU_QUANT_INLINE F32 scale(int i) const { return parameters(QuantizeKernel::kScale, i); }
  NPU_QUANT_INLINE F32 offset(int i) const { return parameters(QuantizeKernel::kZeroPoint, i); }
  NPU_QUANT_INLINE F32 factor(int i) const { return parameters(QuantizeKernel::kFactor, i); }
  NPU_QUANT_INLINE F32 steps(int i) const { return parameters(QuantizeKernel::kOffset, i); }
};

template <class InType, class Code>
struct QuantizeByQuotient {
  using X = InType;
  using Y = Code;
  static constexpr int kParameters = kIsByte<Y> ? 4 : 3;
  int32_t formula;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    const Tile x = X::load(tile.x());
    const DivisorsAt<Parameters> by{parameters};
    if constexpr (kIsByte<Y>)
      if (Y::put_floors(tile.y(), steps_of_sums(x, by), tile.stores)) return;
    if constexpr (kHasFma)
      if (Y::put_ordinary(tile.y(), corrected_sums(x, by, kStepsOf<Y>), tile.stores)) return;
    put_with_zero_for_nan<Y>(tile.y(), sums_by_formula(x, by, formula), tile.stores);
  }
};

NPU_QUANT_INLINE F32 rounded(F32 v, Rounding rounding) {
  switch (rounding) {
    case Rounding::floor: return floor(v);
    case Rounding::ceil: return ceil(v);
    case Rounding::trunc: return trunc(v);
    case Rounding::away_from_zero:
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
  int32_t formula;
  bool divide, twice;
  Rounding rounding;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile q = X::load(tile.x());
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(QuantizeKernel::kScale, i);
      q.part[i] = divide ? by_formula(formula, q.part[i], scale) : q.part[i] * scale;
      if (twice) q.part[i] *= scale;
      q.part[i] += parameters(QuantizeKernel::kZeroPoint, i);
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
      const F32 scale = parameters(QuantizeKernel::kScale, i);
      q.part[i] *= scale;
      if (twice) q.part[i] *= scale;
      q.part[i] = rounded(q.part[i] + parameters(QuantizeKernel::kZeroPoint, i), rounding);
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
  const ElementwiseArgs& work = args.work;
  const int32_t formula = formula_of(work.rule);
  trap_unless(formula != kProduct || !args.divide);
  trap_unless(args.rounding != Rounding::away_from_zero);
  visit_float(args.x_dtype, work.stream, [&](auto x) {
    using X = decltype(x);
    if (!is_plain_integer(args.codes))
      return map_rows(
          work, QuantizeSmall<X>{args.codes, formula, args.divide, args.twice, args.rounding});
    if (args.twice || args.rounding != Rounding::to_even)
      return map_rows(work, AscendQuant<X>{args.twice, args.rounding});
    visit_plain_integer(args.codes, [&](auto y) {
      using Y = decltype(y);
      args.divide ? map_rows(work, QuantizeByQuotient<X, Y>{formula})
                  : map_rows(work, QuantizeByProduct<X, Y>{});
    });
  });
}

}  // namespace npu_quant
