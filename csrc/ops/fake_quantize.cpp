#include "ops/fake_quantize.h"

#include <cmath>

#include "core/dispatch.h"
#include "ops/split/elementwise.h"

namespace npu_quant {
namespace {

constexpr int64_t kLimit = 1 << 24;  // integers up to here are exact in float32

std::string range(int64_t low, int64_t high) {
  return std::to_string(low) + " to " + std::to_string(high);
}

// What number_in reads: no small floats.
bool is_number(DType dtype) {
  const FormatRow* const row = find_row(format_of(dtype));
  return row != nullptr && (row->bits > 8 || row->least_step == 1);
}

Status check_limit(const char* op, const char* argument, int64_t value) {
  if (value >= -kLimit && value <= kLimit) return {};
  return wrong_attribute(op, argument, value, {"expected ", range(-kLimit, kLimit)});
}

Status check_one_element(const char* op, const char* argument, const TensorView& view) {
  if (view.shape.size() == 1) return {};
  return wrong_shape(op, argument, view, "expected one element");
}

constexpr const char *kOne = "It holds one element.",
                     *kPerChannel = "It holds one element per channel.";

constexpr Takes one(const Takes& takes) { return takes.ranks(0, kMaxRank, kOne); }
constexpr Takes per_channel(const Takes& takes) { return takes.ranks(1, 1, kPerChannel); }

}  // namespace

const Takes& FakeQuantize::of_scale() const {
  static constexpr Takes of_floats = floats().lists_to(DType::float32), of_one = one(of_floats),
                         of_any = per_channel(of_floats),
                         of_float32 = per_channel(one_of(kFloat32).made_of(DType::float32));
  if (form_ != Form::per_channel) return of_one;
  return rules_ == Rules::aclnn ? of_any : of_float32;
}

const Takes& FakeQuantize::of_zero_point() const {
  static constexpr DType kOfChannels[] = {DType::int32, DType::float32, DType::float16},
                         kOfArrays[] = {DType::int32, DType::int64};
  static constexpr auto of = [](std::span<const DType> dtypes) {
    return one_of(dtypes).made_of(DType::int32);
  };
  static constexpr Takes of_aclnn[] = {one(of(kInt32)), per_channel(of(kInt32))},
                         of_torch[] = {one(of(kOfArrays)), per_channel(of(kOfChannels))};
  return (rules_ == Rules::aclnn ? of_aclnn : of_torch)[form_ == Form::per_channel];
}

Inputs FakeQuantize::inputs() {
  static constexpr Takes of_self[] = {floats(), floats().ranks(1, kMaxRank)},
                         of_switch = one(Takes{}).lists_to(DType::float32);
  const Input x = required("self", self, of_self[form_ == Form::per_channel]);
  if (form_ == Form::numbers) return Inputs::of(x);
  const Input scales = required("scale", scale, of_scale()),
              zero_points = required("zero_point", zero_point, of_zero_point());
  if (!has_switch) return Inputs::of(x, scales, zero_points);
  return Inputs::of(x, scales, zero_points,
                    required("fake_quant_enabled", fake_quant_enabled, of_switch));
}

Status FakeQuantize::check_dtypes(const Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_dtypes(given));
  if (!has_switch || is_number(fake_quant_enabled.dtype)) return {};
  return fault(name, Fault::dtype, {Argument("fake_quant_enabled")},
               {"has dtype ", DTypeOf(fake_quant_enabled)}, "expected a real number");
}

Attributes FakeQuantize::attributes() {
  const Attribute least = required("quant_min", quant_min),
                  greatest = required("quant_max", quant_max);
  switch (form_) {
    case Form::numbers:
      return Attributes::of(required("scale", scale_number),
                            required("zero_point", zero_point_number), least, greatest);
    case Form::arrays: return Attributes::of(least, greatest);
    case Form::per_channel: return Attributes::of(required("axis", axis), least, greatest);
  }
  return {};
}

bool FakeQuantize::has_float_zero_point() const {
  return form_ == Form::per_channel && zero_point.dtype != DType::int32;
}

bool FakeQuantize::has_wrong_output_dtype() const {
  if (rules_ == Rules::torch) return false;
  return output_dtype != DType::float16 && output_dtype != DType::bfloat16 &&
         output_dtype != DType::float32;
}

void FakeQuantize::plan_outputs() {
  const OutputSpec output{with_mask_ ? "output" : "", dtype_of_output(), self.shape};
  const OutputSpec mask{"mask", DType::boolean, self.shape};
  if (with_mask_)
    outputs.assign(output, mask);
  else
    outputs.assign(output);
}

Status FakeQuantize::check_attributes() {
  if (has_wrong_output_dtype())
    return fault(name, Fault::dtype, {Output("output")}, {"has dtype ", output_dtype},
                 {"expected ", DType::float16, ", ", DType::bfloat16, " or ", DType::float32});
  if (quant_min > quant_max)
    return fault(name, Fault::attribute, {Argument("quant_min")},
                 {"is ", quant_min, " and ", Argument("quant_max"), " is ", quant_max},
                 {"expected ", Argument("quant_min"), " <= ", Argument("quant_max")});
  NPU_QUANT_RETURN_IF_ERROR(check_limit(name, "quant_min", quant_min));
  NPU_QUANT_RETURN_IF_ERROR(check_limit(name, "quant_max", quant_max));
  if (form_ == Form::per_channel)
    return check_channel_axis(name, axis, self, "self", channel_axis_);
  if (form_ == Form::arrays) return {};
  NPU_QUANT_RETURN_IF_ERROR(check_limit(name, "zero_point", zero_point_number));
  if (zero_point_number >= quant_min && zero_point_number <= quant_max) return {};
  return refuse("zero_point", zero_point_number,
                {"expected ", Argument("quant_min"), " to ", Argument("quant_max"), " (",
                 range(quant_min, quant_max), ")"});
}

Status FakeQuantize::check_shapes() {
  if (form_ == Form::numbers) return {};
  if (form_ == Form::arrays) {
    NPU_QUANT_RETURN_IF_ERROR(check_one_element(name, "scale", scale));
    NPU_QUANT_RETURN_IF_ERROR(check_one_element(name, "zero_point", zero_point));
    return has_switch ? check_one_element(name, "fake_quant_enabled", fake_quant_enabled)
                      : Status{};
  }
  const Shape channels = shape_along(self.shape, channel_axis_, 1);
  const auto check = [&](const char* argument, const TensorView& view) -> Status {
    if (view.shape == channels) return {};
    return wrong_shape(
        name, argument, view,
        {"expected ", channels, ": the length of axis ", axis, " of ", Argument("self")});
  };
  NPU_QUANT_RETURN_IF_ERROR(check("scale", scale));
  return check("zero_point", zero_point);
}

Status FakeQuantize::take_zero_point(Parameter& taken) const {
  if (form_ == Form::per_channel) {
    const int64_t channels = self.shape.dims[channel_axis_];
    NPU_QUANT_RETURN_IF_ERROR(taken.assign(name, zero_point, channels));
    return check_zero_points(taken);
  }
  if (form_ == Form::numbers) {
    taken.assign(static_cast<double>(zero_point_number));
    return {};
  }
  const double zero = number_in(zero_point);
  taken.assign(zero);
  if (zero >= -kLimit && zero <= kLimit) return {};
  return fault(name, Fault::attribute, {Argument("zero_point")},
               {"holds ", to_integer_string(zero)}, {"expected ", range(-kLimit, kLimit)});
}

Status FakeQuantize::take(Parameters& parameters) const {
  NPU_QUANT_RETURN_IF_ERROR(take_zero_point(parameters.zero_point));
  if (form_ == Form::numbers) {
    parameters.scale.assign(scale_number);
  } else {
    const int64_t channels = form_ == Form::per_channel ? self.shape.dims[channel_axis_] : 1;
    NPU_QUANT_RETURN_IF_ERROR(parameters.scale.assign(name, scale, channels));
  }
  parameters.enabled = !has_switch || number_in(fake_quant_enabled) >= 1;
  return parameters.inverse.assign_reciprocals(name, parameters.scale);
}

// 2^24 + 1 is 2^24 in float32.
bool FakeQuantize::goes_beyond_limit() const {
  TensorView one = zero_point;
  for (int64_t i = 0; i < zero_point.shape.dims[0]; ++i, one.data += zero_point.strides[0])
    if (std::abs(number_in(one)) > static_cast<double>(kLimit)) return true;
  return false;
}

Status FakeQuantize::check_zero_points(const Parameter& taken) const {
  if (zero_point.shape.size() == 0) return {};
  const bool is_float = has_float_zero_point();
  const int64_t low = is_float ? -kLimit : quant_min, high = is_float ? kLimit : quant_max;
  const Parameter::Bounds held = taken.bounds();
  const bool rounded = !is_float && (low == -kLimit || high == kLimit) && goes_beyond_limit();
  if (!rounded && held.least >= static_cast<float>(low) &&
      held.greatest <= static_cast<float>(high))
    return {};
  Text came = "holds a value outside ";
  if (is_float)
    came += {range(low, high)};
  else
    came += {Argument("quant_min"), " to ", Argument("quant_max"), " (", range(low, high), ")"};
  return fault(name, Fault::attribute, {Argument("zero_point")}, came);
}

Status FakeQuantize::run(const TensorView* out) const {
  const TensorView& mask = with_mask_ ? out[kMask] : kAbsent;
  Parameters parameters;
  NPU_QUANT_RETURN_IF_ERROR(take(parameters));
  if (out[kOutput].present || mask.present) compute(parameters, out[kOutput], mask);
  return {};
}

void FakeQuantize::compute(const Parameters& parameters, const TensorView& output,
                           const TensorView& mask) const {
  int64_t along[kMaxRank] = {};
  if (form_ == Form::per_channel) along[channel_axis_] = sizeof(float);
  using Work = Elementwise<FakeQuantizeKernel::kParameters, Masks::written>;
  const Work work(self.shape,
                  {{self.data, self.strides},
                   {output.data, output.strides},
                   {parameters.scale.data(), along},
                   {parameters.zero_point.data(), along},
                   {parameters.inverse.data(), along},
                   {mask.data, mask.strides}},
                  Work::kX, output.present ? Work::kY : Work::kMask);
  work.for_each_part(*this, {&self, &output, &mask}, [&](const ElementwiseArgs& part) {
    run_on_active_target<FakeQuantizeKernel>({.work = part,
                                              .x_dtype = self.dtype,
                                              .y_dtype = dtype_of_output(),
                                              .quant_min = static_cast<float>(quant_min),
                                              .quant_max = static_cast<float>(quant_max),
                                              .float_zero_point = has_float_zero_point(),
                                              .enabled = parameters.enabled});
  });
}

Inputs FakeQuantizeBackward::inputs() {
  static constexpr DType kMask[] = {DType::boolean};
  static constexpr Takes of_grad = floats(), of_mask = one_of(kMask).any_rank();
  return Inputs::of(required("grad", grad, of_grad), required("mask", mask, of_mask));
}

void FakeQuantizeBackward::plan_outputs() {
  outputs.assign(OutputSpec{"", grad.dtype, grad.shape});
}

Status FakeQuantizeBackward::check_shapes() {
  return check_same_shape(name, "mask", mask, "grad", grad);
}

Status FakeQuantizeBackward::run(const TensorView* out) const {
  const TensorView& grad_input = out[kGradInput];
  const Elementwise<0, Masks::read> work(grad.shape, {{grad.data, grad.strides},
                                                      {grad_input.data, grad_input.strides},
                                                      {mask.data, mask.strides}});
  work.for_each_part(*this, {&grad, &mask, &grad_input}, [&](const ElementwiseArgs& part) {
    run_on_active_target<FakeQuantizeBackwardKernel>({.work = part, .dtype = grad.dtype});
  });
  return {};
}

}  // namespace npu_quant
