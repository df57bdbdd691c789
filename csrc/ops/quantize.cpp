#include "ops/quantize.h"

#include <algorithm>
#include <utility>

#include "ops/elementwise.h"

namespace npu_quant {
namespace {

bool holds_one(const TensorView& view) { return !view.present || view.shape.size() == 1; }

}  // namespace

bool Quantize::is_per_channel() const { return !holds_one(scales) || !holds_one(zero_points); }

Status Quantize::check_dtypes() const {
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "self", self));
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "scales", scales));
  if (zero_points.present)
    NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, "zero_points", zero_points,
                                             {DType::int8, DType::uint8, DType::int32,
                                              DType::float16, DType::bfloat16, DType::float32}));
  return rules_ == Rules::npu_quantize ? Status{} : check_matching_dtypes();
}

Status Quantize::check_matching_dtypes() const {
  if (self.dtype != DType::float32)
    NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(kName, "scales", scales, "self", self));
  if (!zero_points.present) return {};
  return check_same_dtype(kName, "zero_points", zero_points, "scales", scales);
}

Status Quantize::check_arrays() const {
  if (!self.present) return missing(kName, "self");
  if (!scales.present) return missing(kName, "scales");
  NPU_QUANT_RETURN_IF_ERROR(check_dtypes());
  const int least = rules_ == Rules::ascend_quant_v3 ? 1 : 0;
  NPU_QUANT_RETURN_IF_ERROR(
      check_rank(kName, "self", self, least, kMaxRank, "Merge axes with self.reshape."));
  const char* remedy = "It holds one element, or one per channel.";
  NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, "scales", scales, least, kMaxRank, remedy));
  if (!zero_points.present) return {};
  return check_rank(kName, "zero_points", zero_points, 0, kMaxRank, remedy);
}

Status Quantize::check_dst_dtype() const {
  if (rules_ != Rules::npu_quantize) return check_dst_type(kName, dtype);
  if (dtype.dtype == DType::int8 || dtype.dtype == DType::uint8 || dtype.dtype == DType::int32)
    return {};
  return fault(kName, Fault::unavailable,
               "dtype is " + shortened(dtype.text) + ", available: int8, uint8, int32.",
               "Name it by torch_npu's code (1, 0, 3 or of qint8, quint8, qint32), a dtype or its "
               "name.");
}

Status Quantize::check_round_mode() {
  constexpr std::pair<std::string_view, Rounding> kModes[] = {{"round", Rounding::to_even},
                                                              {"floor", Rounding::floor},
                                                              {"ceil", Rounding::ceil},
                                                              {"trunc", Rounding::trunc}};
  for (const auto& [name, rounding] : kModes)
    if (round_mode == name) return rounding_ = rounding, Status{};
  return fault(
      kName, Fault::attribute,
      "round_mode is " + quoted(round_mode) + ", expected 'round', 'floor', 'ceil' or 'trunc'.");
}

// With div_mode=False torch_npu takes an axis of -1 and above for the last one.
Status Quantize::check_axis() {
  if (rules_ == Rules::ascend_quant_v3) return check_one_of_last_two_axes();
  if (rules_ == Rules::ascend_quant) {
    channel_axis_ = self.rank > 0 ? self.rank - 1 : 0;
    return {};
  }
  if (!div_mode && axis < -2)
    return fault(kName, Fault::attribute,
                 "axis is " + std::to_string(axis) + ", available with div_mode=False: -1 or -2.");
  if (!is_per_channel()) return {};
  const int64_t wanted = div_mode || axis < -1 ? axis : -1;
  return check_channel_axis(kName, wanted, self, "self", channel_axis_);
}

Status Quantize::check_one_of_last_two_axes() {
  NPU_QUANT_RETURN_IF_ERROR(check_channel_axis(kName, axis, self, "self", channel_axis_));
  if (channel_axis_ >= self.rank - 2) return {};
  return fault(kName, Fault::attribute,
               "axis is " + std::to_string(axis) + ", expected one of the last two of self.");
}

// Ones but for the last axis, which is that of self, or one too, in both parameters.
Status Quantize::check_last_axis_parameters() const {
  const auto last = [](const TensorView& view) {
    return view.rank > 0 ? view.shape.dims[view.rank - 1] : 1;
  };
  for (const NamedInput& input : {NamedInput{"scales", scales}, {"zero_points", zero_points}}) {
    const TensorView& view = input.view;
    if (!view.present) continue;
    const int64_t length = last(view);
    const bool fits = (length == 1 || length == last(self)) && length == last(scales);
    if (fits && view.shape.size() == length && view.rank <= std::max(1, self.rank)) continue;
    return fault(kName, Fault::shape,
                 std::string(input.name) + " has shape " + to_string(view.shape) +
                     ", expected 1 or " + std::to_string(last(self)) +
                     " along the last axis, ones before it, and the same for both.");
  }
  return {};
}

Status Quantize::check_parameter(const char* name, const TensorView& parameter) const {
  const bool is_own_rank = parameter.rank == 1 || parameter.rank == self.rank;
  if (holds_one(parameter) && (rules_ == Rules::npu_quantize || is_own_rank || !parameter.present))
    return {};
  const int64_t channels = self.shape.dims[channel_axis_];
  const Shape vector{1, {channels}};
  Shape full{self.rank, {}};
  for (int i = 0; i < self.rank; ++i) full.dims[i] = i == channel_axis_ ? channels : 1;
  if (parameter.shape == vector || (!div_mode && parameter.shape == full)) return {};
  const std::string forms = div_mode || self.rank == 1
                                ? " or " + to_string(vector)
                                : ", " + to_string(vector) + " or " + to_string(full);
  const bool means_last = rules_ == Rules::npu_quantize && !div_mode && axis > -2;
  return fault(kName, Fault::shape,
               std::string(name) + " has shape " + to_string(parameter.shape) +
                   ", expected one element" + forms + ": the length of axis " +
                   std::to_string(means_last ? -1 : axis) + " of self.");
}

Status Quantize::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  NPU_QUANT_RETURN_IF_ERROR(check_dst_dtype());
  outputs[kY] = {"", dtype.dtype, self.shape};
  NPU_QUANT_RETURN_IF_ERROR(check_round_mode());
  NPU_QUANT_RETURN_IF_ERROR(check_axis());
  if (rules_ == Rules::ascend_quant) return check_last_axis_parameters();
  NPU_QUANT_RETURN_IF_ERROR(check_parameter("scales", scales));
  NPU_QUANT_RETURN_IF_ERROR(check_parameter("zero_points", zero_points));
  if (rules_ == Rules::ascend_quant_v3 && zero_points.present)
    return check_same_shape(kName, "zero_points", zero_points, "scales", scales);
  return {};
}

int64_t Quantize::bytes() const {
  return self.shape.size() * (size_of(self.dtype) + size_of(dtype.dtype));
}

Status Quantize::check_outputs(const TensorView* out) const {
  return npu_quant::check_outputs(
      kName, {{"self", self}, {"scales", scales}, {"zero_points", zero_points}}, outputs, out,
      kOutputs);
}

Status Quantize::run(const TensorView* out) const {
  const int64_t channels = is_per_channel() ? self.shape.dims[channel_axis_] : 1;
  Parameter scale, inverse, zero_point;
  NPU_QUANT_RETURN_IF_ERROR(scale.assign(kName, scales, channels));
  Parameter::Bounds held{};
  if (div_mode) {
    NPU_QUANT_RETURN_IF_ERROR(inverse.assign_reciprocals(kName, scale));
    held = scale.bounds_of_magnitudes();
  }
  NPU_QUANT_RETURN_IF_ERROR(zero_point.assign(kName, zero_points, channels));
  int64_t strides[kMaxRank] = {};
  if (channels > 1) strides[channel_axis_] = sizeof(float);
  enum { kX, kScale, kInverse, kZeroPoint, kCodes, kTensors };
  const Elementwise<kTensors> work(self.shape, kX, kCodes,
                                   {self.strides, strides, strides, strides, out[kY].strides});
  const bool stream = worth_streaming(bytes());
  work.for_each_part(
      {self.data, scale.data(), div_mode ? inverse.data() : scale.data(), zero_point.data(),
       out[kY].data},
      work_bytes(bytes(), {&self, &out[kY]}), [&](const auto& part) {
        run_on_active_target<QuantizeKernel>({.x_dtype = self.dtype,
                                              .y_dtype = dtype.dtype,
                                              .rows = part.rows,
                                              .n = part.n,
                                              .x = part.at[kX],
                                              .y = part.at[kCodes],
                                              .scale = part.at[kScale],
                                              .inverse = part.at[kInverse],
                                              .zero_point = part.at[kZeroPoint],
                                              .least_scale = held.least,
                                              .greatest_scale = held.greatest,
                                              .divide = div_mode,
                                              .twice = sqrt_mode,
                                              .rounding = rounding_,
                                              .stream = stream});
      });
  return {};
}

}  // namespace npu_quant
