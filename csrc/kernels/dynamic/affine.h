// Values beside an offset, before they are rounded to codes: v / scale + offset, by the first of
// three forms that is certain of a whole tile (docs/numerics.md 3).
//
//   steps      one multiplication and one addition, for bytes    decides all but what lies next to
//                                                                where two codes meet
//   corrected  a corrected multiplication                        all but NaN, infinities, quotients
//                                                                beyond float32
//   formula    as the rule says                                  everything
//
// `by` has the numbers of part i of a tile: by.scale(i), by.offset(i), by.factor(i), which is
// 1 / scale or, where there are steps, 2^16 / scale, and by.steps(i) (kernels/dynamic/quotient.h).
#pragma once

#include "kernels/dynamic/divide.h"

namespace npu_quant {
namespace {

template <class By>
NPU_QUANT_INLINE Tile steps_of_sums(Tile v, const By& by) {
  for (int i = 0; i < 4; ++i) v.part[i] = steps_of_sum(v.part[i], by.factor(i), by.steps(i));
  return v;
}

// The factor is `steps` / scale.
template <class By>
NPU_QUANT_INLINE Tile corrected_sums(Tile v, const By& by, float steps) {
  for (int i = 0; i < 4; ++i)
    v.part[i] = corrected_quotient(v.part[i], by.scale(i), by.factor(i) / steps) + by.offset(i);
  return v;
}

// Of products, too, which are those with 1 / scale.
template <class By>
NPU_QUANT_INLINE Tile sums_by_formula(Tile v, const By& by, int32_t formula) {
  for (int i = 0; i < 4; ++i)
    v.part[i] = by_formula(formula, v.part[i], by.scale(i)) + by.offset(i);
  return v;
}

}  // namespace
}  // namespace npu_quant
