#include "ops/contract/profiles.h"

#include <algorithm>

#include "ops/split/parameter.h"

namespace npu_quant {
namespace {

// Of a number as float32: infinity of 0.
float reciprocal_of(double number) {
  Parameter one, inverse;
  one.assign(number);
  if (!inverse.assign_reciprocals("", one).ok()) return 0;  // never: it is one
  return inverse.bounds().greatest;
}

constexpr float kLeastNormal = 0x1p-126f;

// Whether an ascend910b gives amax * (1 / MAX) as the scale (S1), not 1 / (MAX / amax) (S2): what
// its tiling decides by the length of a row, and by what its buffer holds.
bool gives_product(const Numerics& numerics, const TokenCall& call) {
  if (numerics.scale_form != 0) return numerics.scale_form == 1;
  if (call.smooths && call.has_groups) return false;
  const int64_t n = call.n, aligned = (n + 15) / 16 * 16, free = numerics.ub_size - 1024;
  const bool is_listed = n == 4096 || n == 5120 || n == 10240;
  if (call.codes == Format::int8 && is_listed && call.rows >= 4 && call.rows <= 384) return true;
  const int64_t fitting = (free - 3392) / (call.smooths ? 15 : 11) / 64 * 64;
  if (n % 8 == 0 && n >= 128 && n <= std::min<int64_t>(16320, fitting)) return true;
  return (call.smooths ? 19 : 13) * aligned < free;
}

}  // namespace

Rule reference_rule(Format codes, double greatest) {
  const FormatRow* const row = find_row(codes);
  if (row == nullptr) return {};
  const float code = greatest != 0 ? to_float32(greatest) : static_cast<float>(row->greatest);
  return {.greatest = code, .range = 2 * code + (row->least_step == 1 ? 1.0f : 0.0f)};
}

void bound_scales(double min_scale, Rule& rule) {
  if (min_scale == 0) return;
  const float bound = to_float32(min_scale);
  rule.most_scale = reciprocal_of(min_scale);
  if (rule.code == CodeForm::product_of_inverse) rule.least_multiplier = bound;
  // Of a subnormal min_scale div() gives infinity, and fl() more than any scale that is finite.
  if (rule.code == CodeForm::flushed_quotient && rule.most_scale < kLeastNormal)
    rule.most_scale = 0;
}

void set_dynamic_forms(const Numerics& numerics, const TokenCall& call, Rule& rule) {
  if (numerics.profile == Profile::ascend910b) {
    rule.scale = gives_product(numerics, call) ? ScaleForm::product : ScaleForm::inverse;
    rule.code = CodeForm::product;
  } else if (numerics.profile == Profile::ascend950) {
    rule.scale = ScaleForm::product;
    rule.code = CodeForm::flushed_quotient;
  }
}

void set_asymmetric_forms(const Numerics& numerics, Rule& rule) {
  if (numerics.profile == Profile::ascend910b) {
    rule.code = CodeForm::product;
    rule.least_scale = LeastScale::replaces_nan;
  } else if (numerics.profile == Profile::ascend950) {
    rule.scale = ScaleForm::product;
    rule.code = CodeForm::flushed_quotient;
    rule.least_scale = LeastScale::none;
  }
}

void set_block_forms(const Numerics& numerics, Rule& rule) {
  if (numerics.profile == Profile::ascend910b) {
    rule.scale = ScaleForm::product;
    rule.code = CodeForm::product_of_inverse;
  } else if (numerics.profile == Profile::ascend950) {
    rule.scale = ScaleForm::flushed_quotient;
    rule.code = CodeForm::flushed_quotient;
  }
}

Status refused_by_device(const char* op, Profile profile, Fault kind, const char* argument,
                         const Text& came, const Text& taken) {
  Text text{"is "};
  text += came;
  text += {"; ", name_of(profile), " takes "};
  text += taken;
  return fault(op, kind, {Argument(argument)}, text);
}

Status check_dtype_of_device(const char* op, Profile profile, const char* argument,
                             const TensorView& view, std::span<const DType> taken) {
  if (is_among(view.dtype, taken)) return {};
  return refused_by_device(op, profile, Fault::dtype, argument, {DTypeOf(view)},
                           listed(taken, " and "));
}

Status check_format_of_device(const char* op, Profile profile, Format codes,
                              std::span<const Format> taken) {
  if (is_among(codes, taken)) return {};
  return refused_by_device(op, profile, Fault::attribute, "dst_type", {codes},
                           listed(taken, " and "));
}

Status check_has_profile(const char* op, Profile profile) {
  if (profile == Profile::reference) return {};
  return fault(op, Fault::unavailable, {Argument("numerics")}, {"is ", quoted(name_of(profile))},
               {"available: ", name_of(Profile::reference)});
}

}  // namespace npu_quant
