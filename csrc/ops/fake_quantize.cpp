#include "ops/fake_quantize.h"

#include <cmath>

#include "kernels/fake_quantize.h"
#include "ops/elementwise.h"

namespace npu_quant {
namespace {

constexpr int64_t kLimit = 1 << 24;  // integers up to here are exact in float32

std::string range(int64_t low, int64_t high) {
  return std::to_string(low) + " to " + std::to_string(high);
}

Status check_limit(const char* op, const char* name, int64_t value) {
  if (value >= -kLimit && value <= kLimit) return {};
  return fault(op, Fault::attribute,
               std::string(name) + " is " + std::to_string(value) + ", expected " +
                   range(-kLimit, kLimit) + ".");
}

Status check_one_element(const char* op, const char* name, const TensorView& view) {
  if (view.shape.size() == 1) return {};
  return fault(
      op, Fault::shape,
      std::string(name) + " has shape " + to_string(view.shape) + ", expected one element.");
}

}  // namespace

bool FakeQuantize::has_float_zero_point() const {
  return form_ == Form::per_channel && zero_point.dtype != DType::int32;
}

Status FakeQuantize::check_parameter_dtypes() const {
  if (rules_ == Rules::aclnn) {
    NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "scale", scale));
    return check_dtype_in(kName, "zero_point", zero_point, {DType::int32});
  }
  if (form_ == Form::arrays) {
    NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "scale", scale));
    NPU_QUANT_RETURN_IF_ERROR(
        check_dtype_in(kName, "zero_point", zero_point, {DType::int32, DType::int64}));
    if (has_switch && fake_quant_enabled.dtype == DType::other)
      return fault(kName, Fault::dtype,
                   std::string("fake_quant_enabled has dtype ") + fake_quant_enabled.dtype_name +
                       ", expected a real number.");
  }
  if (form_ == Form::per_channel) {
    NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, "scale", scale, {DType::float32}));
    NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, "zero_point", zero_point,
                                             {DType::int32, DType::float32, DType::float16}));
  }
  return {};
}

Status FakeQuantize::check_ranks() const {
  const bool per_channel = form_ == Form::per_channel;
  const int most = per_channel ? 1 : kMaxRank;
  NPU_QUANT_RETURN_IF_ERROR(check_rank(
      kName, "self", self, per_channel ? 1 : 0, kMaxRank,
      self.rank == 0 ? "Give it an axis with self.reshape(1)." : "Merge axes with self.reshape."));
  if (form_ == Form::numbers) return {};
  const char* remedy = per_channel ? "It holds one element per channel." : "It holds one element.";
  NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, "scale", scale, per_channel ? 1 : 0, most, remedy));
  NPU_QUANT_RETURN_IF_ERROR(
      check_rank(kName, "zero_point", zero_point, per_channel ? 1 : 0, most, remedy));
  if (!has_switch) return {};
  return check_rank(kName, "fake_quant_enabled", fake_quant_enabled, 0, kMaxRank, remedy);
}

Status FakeQuantize::check_arrays() const {
  if (!self.present) return missing(kName, "self");
  if (form_ != Form::numbers && !scale.present) return missing(kName, "scale");
  if (form_ != Form::numbers && !zero_point.present) return missing(kName, "zero_point");
  if (has_switch && !fake_quant_enabled.present) return missing(kName, "fake_quant_enabled");
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "self", self));
  NPU_QUANT_RETURN_IF_ERROR(check_parameter_dtypes());
  return check_ranks();
}

Status FakeQuantize::check_attributes() {
  if (quant_min > quant_max)
    return fault(kName, Fault::attribute,
                 "quant_min is " + std::to_string(quant_min) + " and quant_max is " +
                     std::to_string(quant_max) + ", expected quant_min <= quant_max.");
  NPU_QUANT_RETURN_IF_ERROR(check_limit(kName, "quant_min", quant_min));
  NPU_QUANT_RETURN_IF_ERROR(check_limit(kName, "quant_max", quant_max));
  if (form_ == Form::per_channel)
    return check_channel_axis(kName, axis, self, "self", channel_axis_);
  if (form_ == Form::arrays) return {};
  NPU_QUANT_RETURN_IF_ERROR(check_limit(kName, "zero_point", zero_point_number));
  if (zero_point_number >= quant_min && zero_point_number <= quant_max) return {};
  return fault(kName, Fault::attribute,
               "zero_point is " + std::to_string(zero_point_number) +
                   ", expected quant_min to quant_max, " + range(quant_min, quant_max) + ".");
}

Status FakeQuantize::check_shapes() const {
  if (form_ == Form::numbers) return {};
  if (form_ == Form::arrays) {
    NPU_QUANT_RETURN_IF_ERROR(check_one_element(kName, "scale", scale));
    NPU_QUANT_RETURN_IF_ERROR(check_one_element(kName, "zero_point", zero_point));
    return has_switch ? check_one_element(kName, "fake_quant_enabled", fake_quant_enabled)
                      : Status{};
  }
  const Shape channels{1, {self.shape.dims[channel_axis_]}};
  for (const NamedInput& input : {NamedInput{"scale", scale}, {"zero_point", zero_point}})
    if (!(input.view.shape == channels))
      return fault(kName, Fault::shape,
                   std::string(input.name) + " has shape " + to_string(input.view.shape) +
                       ", expected " + to_string(channels) + ": the length of axis " +
                       std::to_string(axis) + " of self.");
  return {};
}

Status FakeQuantize::take_zero_point(Parameter& taken) const {
  if (form_ == Form::per_channel) {
    const int64_t channels = self.shape.dims[channel_axis_];
    NPU_QUANT_RETURN_IF_ERROR(taken.assign(kName, zero_point, channels));
    return check_zero_points(taken);
  }
  if (form_ == Form::numbers) {
    taken.assign(static_cast<double>(zero_point_number));
    return {};
  }
  const double zero = number_in(zero_point);
  taken.assign(zero);
  if (zero >= -kLimit && zero <= kLimit) return {};
  return fault(
      kName, Fault::attribute,
      "zero_point holds " + to_integer_string(zero) + ", expected " + range(-kLimit, kLimit) + ".");
}

Status FakeQuantize::take(Parameters& parameters) const {
  NPU_QUANT_RETURN_IF_ERROR(take_zero_point(parameters.zero_point));
  if (form_ == Form::numbers) {
    parameters.scale.assign(scale_number);
  } else {
    const int64_t channels = form_ == Form::per_channel ? self.shape.dims[channel_axis_] : 1;
    NPU_QUANT_RETURN_IF_ERROR(parameters.scale.assign(kName, scale, channels));
  }
  parameters.enabled = !has_switch || number_in(fake_quant_enabled) >= 1;
  return parameters.inverse.assign_reciprocals(kName, parameters.scale);
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
  return fault(kName, Fault::attribute,
               std::string("zero_point holds a value outside ") +
                   (is_float ? "" : "quant_min to quant_max, ") + range(low, high) + ".");
}

Status FakeQuantize::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  if (rules_ == Rules::torch) output_dtype = self.dtype;
  outputs[kOutput] = {kOutputs == 1 ? "" : "output", output_dtype, self.shape};
  outputs[kMask] = {"mask", DType::boolean, self.shape};
  NPU_QUANT_RETURN_IF_ERROR(check_attributes());
  return check_shapes();
}

int64_t FakeQuantize::bytes() const {
  return self.shape.size() * (size_of(self.dtype) + size_of(output_dtype) + kOutputs - 1);
}

Status FakeQuantize::check_outputs(const TensorView* out) const {
  if (rules_ == Rules::aclnn)
    NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "out", out[kOutput]));
  return npu_quant::check_outputs(kName,
                                  {{"self", self},
                                   {"scale", scale},
                                   {"zero_point", zero_point},
                                   {"fake_quant_enabled", fake_quant_enabled}},
                                  outputs, out, kOutputs);
}

Status FakeQuantize::run(const TensorView* out) const {
  const TensorView absent;
  const TensorView& mask = kOutputs > kMask ? out[kMask] : absent;
  Parameters parameters;
  NPU_QUANT_RETURN_IF_ERROR(take(parameters));
  if (out[kOutput].present || mask.present) compute(parameters, out[kOutput], mask);
  return {};
}

void FakeQuantize::compute(const Parameters& parameters, const TensorView& output,
                           const TensorView& mask) const {
  int64_t strides[kMaxRank] = {};
  if (form_ == Form::per_channel) strides[channel_axis_] = sizeof(float);
  enum { kX, kScale, kInverse, kZeroPoint, kY, kM, kTensors };
  const Elementwise<kTensors> work(
      self.shape, kX, output.present ? kY : kM,
      {self.strides, strides, strides, strides, output.strides, mask.strides});
  const auto run_kernel = [&](const auto& part) {
    run_on_active_target<FakeQuantizeKernel>({.x_dtype = self.dtype,
                                              .output_dtype = output_dtype,
                                              .rows = part.rows,
                                              .n = part.n,
                                              .x = part.at[kX],
                                              .scale = part.at[kScale],
                                              .inverse = part.at[kInverse],
                                              .zero_point = part.at[kZeroPoint],
                                              .output = part.at[kY],
                                              .mask = part.at[kM],
                                              .quant_min = static_cast<float>(quant_min),
                                              .quant_max = static_cast<float>(quant_max),
                                              .float_zero_point = has_float_zero_point(),
                                              .enabled = parameters.enabled,
                                              .stream = worth_streaming(bytes())});
  };
  work.for_each_part({self.data, parameters.scale.data(), parameters.inverse.data(),
                      parameters.zero_point.data(), output.data, mask.data},
                     work_bytes(bytes(), {&self, &output, &mask}), run_kernel);
}

Status FakeQuantizeBackward::check_arrays() const {
  if (!grad.present) return missing(kName, "grad");
  if (!mask.present) return missing(kName, "mask");
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "grad", grad));
  NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, "mask", mask, {DType::boolean}));
  NPU_QUANT_RETURN_IF_ERROR(
      check_rank(kName, "grad", grad, 0, kMaxRank, "Merge axes with grad.reshape."));
  return {};
}

Status FakeQuantizeBackward::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(kName, "mask", mask, "grad", grad));
  outputs[kGradInput] = {"", grad.dtype, grad.shape};
  return {};
}

int64_t FakeQuantizeBackward::bytes() const {
  return grad.shape.size() * (2 * size_of(grad.dtype) + 1);
}

Status FakeQuantizeBackward::check_outputs(const TensorView* out) const {
  return npu_quant::check_outputs(kName, {{"grad", grad}, {"mask", mask}}, outputs, out, kOutputs);
}

Status FakeQuantizeBackward::run(const TensorView* out) const {
  enum { kGrad, kM, kY, kTensors };
  const Elementwise<kTensors> work(grad.shape, kGrad, kY, {grad.strides, mask.strides, out->strides});
  work.for_each_part({grad.data, mask.data, out->data},
                     work_bytes(bytes(), {&grad, &mask, &out[kGradInput]}), [&](const auto& part) {
                       run_on_active_target<FakeQuantizeBackwardKernel>(
                           {.dtype = grad.dtype,
                            .rows = part.rows,
                            .n = part.n,
                            .grad = part.at[kGrad],
                            .mask = part.at[kM],
                            .grad_input = part.at[kY],
                            .stream = worth_streaming(bytes())});
                     });
  return {};
}

}  // namespace npu_quant
