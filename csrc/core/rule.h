// What an op tells a kernel about a call's arithmetic.
#pragma once

#include <cstdint>
#include <limits>

namespace npu_quant {

// How a group's amax, or its range where there is an offset, becomes its scale (docs/numerics.md
// 4). MAX is the code that amax becomes; div() takes subnormal numbers for zeros.
enum class ScaleForm : uint8_t {
  quotient,          // amax / MAX
  product,           // amax * fl(1 / MAX)
  inverse,           // 1 / fl(MAX / amax)
  flushed_quotient,  // div(amax, MAX)
  multiplier,        // MAX / amax: what values are multiplied by
};

// How a value becomes what is rounded to its code.
enum class CodeForm : uint8_t {
  quotient,            // v / scale
  product,             // v * fl(MAX / amax); where there is an offset, v * fl(1 / scale)
  product_of_inverse,  // v * fl(fl(1 / amax) * MAX)
  flushed_quotient,    // div(v, scale)
};

// What scales that have an offset are at least.
enum class LeastScale : uint8_t {
  keeps_nan,     // 1e-12, but NaN stays
  replaces_nan,  // 1e-12, in place of NaN, too
  none,
};

// A profile's arithmetic as data, made by ops/contract/profiles.cpp: what is 0 is `reference`.
// Every kernel is handed one, and traps where it has no such form.
struct Rule {
  float greatest = 127;  // the code that amax becomes
  float range = 255;     // of the codes, where they have an offset
  // No scale is greater, and no multiplier is less.
  float most_scale = std::numeric_limits<float>::infinity();
  float least_multiplier = 0;
  ScaleForm scale = ScaleForm::quotient;
  CodeForm code = CodeForm::quotient;
  LeastScale least_scale = LeastScale::keeps_nan;
};

constexpr bool multiplies(const Rule& rule) {
  return rule.code == CodeForm::product || rule.code == CodeForm::product_of_inverse;
}

constexpr bool is_reference(const Rule& rule) {
  return rule.scale == ScaleForm{} && rule.code == CodeForm{} && rule.least_scale == LeastScale{};
}

}  // namespace npu_quant
