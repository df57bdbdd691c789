#include "ops/dynamic_mx_quant.h"

#include <algorithm>

namespace npu_quant {
namespace {

constexpr int64_t kMostBlock = 1024;

}  // namespace

Attributes DynamicMxQuant::attributes() {
  return Attributes::of(required("axis", axis), required("round_mode", round_mode),
                        optional("dst_type", dst_type), required("block_size", block_size),
                        optional("scale_alg", scale_alg), optional("dst_type_max", dst_type_max),
                        required("max_low_bound", max_low_bound));
}

void DynamicMxQuant::plan_outputs() {
  const int last = input.rank - 1;
  place_ = static_cast<int>(std::clamp<int64_t>(axis < 0 ? axis + input.rank : axis, 0, last));
  outputs.assign(y_of("y"),
                 OutputSpec{"mxscale", mxscale_array,
                            mx_scales_of(input.shape, place_, std::max<int64_t>(block_size, 1))});
}

Status DynamicMxQuant::check_attributes() {
  int place;
  NPU_QUANT_RETURN_IF_ERROR(check_channel_axis(name, axis, input, "input", place));
  NPU_QUANT_RETURN_IF_ERROR(check_codes());
  if (block_size % kMxCell != 0 || block_size < kMxCell || block_size > kMostBlock)
    return refuse("block_size", block_size,
                  {"expected a multiple of ", kMxCell, " from ", kMxCell, " to ", kMostBlock});
  NPU_QUANT_RETURN_IF_ERROR(check_scale_alg());
  NPU_QUANT_RETURN_IF_ERROR(check_bound(name, "max_low_bound", max_low_bound));
  if (max_low_bound == 0 || scale_alg == 1) return {};
  return refuse("max_low_bound", to_string(max_low_bound),
                {"available: 0.0 (other values need ", Argument("scale_alg"), " 1)"});
}

Status DynamicMxQuant::run(const TensorView* out) const {
  quantize_along(place_, out[kY], out[kMxScale]);
  return {};
}

Attributes DynamicMxQuantWithDualAxis::attributes() {
  return Attributes::of(required("round_mode", round_mode), optional("dst_type", dst_type),
                        optional("scale_alg", scale_alg), optional("dst_type_max", dst_type_max));
}

void DynamicMxQuantWithDualAxis::plan_outputs() {
  const auto scales = [this](const char* scales, int place) {
    return OutputSpec{scales, mxscale_array, mx_scales_of(input.shape, place, block_size)};
  };
  outputs.assign(y_of("y1"), scales("mxscale1", input.rank - 1), y_of("y2"),
                 scales("mxscale2", input.rank - 2));
}

Status DynamicMxQuantWithDualAxis::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_codes());
  return check_scale_alg();
}

Status DynamicMxQuantWithDualAxis::run(const TensorView* out) const {
  quantize_along(input.rank - 1, out[kY1], out[kMxScale1]);
  quantize_along(input.rank - 2, out[kY2], out[kMxScale2]);
  return {};
}

}  // namespace npu_quant
