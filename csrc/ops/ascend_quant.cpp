#include "ops/ascend_quant.h"

#include <algorithm>

namespace npu_quant {

Attributes AscendQuant::attributes() {
  return Attributes::of(required("round_mode", round_mode), required("dst_type", dtype),
                        required("axis", axis));
}

Status AscendQuant::check_dtypes(const Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Quantize::check_dtypes(given));
  if (self.dtype != DType::float32)
    NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, "scales", scales, "self", self));
  return check_same_dtype(name, "zero_points", zero_points, "scales", scales);
}

Status AscendQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dtype, kCodeFormats));
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, "round_mode", "expected "));
  rounding_ = round_mode.value();
  if (rounding_ != Rounding::to_even && codes() != Format::int8 && codes() != Format::int4)
    return refuse("round_mode", quoted(round_mode.word()), {"expected 'round' for ", codes()});
  return check_axis();
}

Status AscendQuant::check_axis() {
  if (version_ == Version::v1) {
    channel_axis_ = std::max(0, self.rank - 1);
    return {};
  }
  NPU_QUANT_RETURN_IF_ERROR(check_channel_axis(name, axis, self, "self", channel_axis_));
  if (channel_axis_ >= self.rank - 2) return {};
  return refuse("axis", axis, {"expected one of the last two axes of ", Argument("self")});
}

Status AscendQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "self", self, codes(), outputs[kY].dtype));
  if (version_ == Version::v1) return check_last_axis_parameters();
  // One element counts where it has the rank of a vector or of self.
  const auto is_one = [this](const TensorView& view) {
    return view.shape.size() == 1 && (view.rank == 1 || view.rank == self.rank);
  };
  if (!is_one(scales)) NPU_QUANT_RETURN_IF_ERROR(check_shape("scales", scales));
  if (!zero_points.present) return {};
  if (!is_one(zero_points)) NPU_QUANT_RETURN_IF_ERROR(check_shape("zero_points", zero_points));
  return check_same_shape(name, "zero_points", zero_points, "scales", scales);
}

// Ones but for the last axis, which is that of self, or one too, in both parameters.
Status AscendQuant::check_last_axis_parameters() const {
  const auto last = [](const TensorView& view) {
    return view.rank > 0 ? view.shape.dims[view.rank - 1] : 1;
  };
  const auto check = [&](const char* argument, const TensorView& view) -> Status {
    const int64_t length = last(view);
    const bool fits = (length == 1 || length == last(self)) && length == last(scales);
    if (fits && view.shape.size() == length && view.rank <= std::max(1, self.rank)) return {};
    return wrong_shape(name, argument, view,
                       {"expected length 1 or ", last(self),
                        " along the last axis, length 1 along the others, and the same for both"});
  };
  NPU_QUANT_RETURN_IF_ERROR(check("scales", scales));
  return zero_points.present ? check("zero_points", zero_points) : Status{};
}

}  // namespace npu_quant
