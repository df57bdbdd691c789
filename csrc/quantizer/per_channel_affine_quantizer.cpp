#include "quantizer/per_channel_affine_quantizer.h"

#include <cstring>
#include <new>
#include <utility>

namespace npu_quant {
namespace {

// The elements of a 1-D view, widened.
template <class Element, class Number>
std::vector<Number> read(const TensorView& view) {
  std::vector<Number> numbers;
  for (int64_t i = 0; i < view.shape.dims[0]; ++i) {
    Element element;
    std::memcpy(&element, view.data + i * view.strides[0], sizeof element);
    numbers.push_back(element);
  }
  return numbers;
}

std::vector<double> scales_in(const TensorView& view) {
  return view.dtype == DType::float64 ? read<double, double>(view) : read<float, double>(view);
}

std::vector<int64_t> zero_points_in(const TensorView& view) {
  return view.dtype == DType::int64 ? read<int64_t, int64_t>(view) : read<int32_t, int64_t>(view);
}

Status check_axis(const char* name, int64_t axis) {
  if (axis >= -kMaxRank && axis < kMaxRank) return {};
  return wrong_attribute(name, "axis", axis, {"expected ", -kMaxRank, " to ", kMaxRank - 1});
}

}  // namespace

PerChannelAffineQuantizer::PerChannelAffineQuantizer(ScalarType scalar_type,
                                                     std::vector<double> scales,
                                                     std::vector<int64_t> zero_points, int64_t axis)
    : Quantizer(scalar_type),
      scales_(std::move(scales)),
      zero_points_(std::move(zero_points)),
      axis_(axis) {
  for (const double scale : scales_) scales_f32_.push_back(to_float32(scale));
  for (const int64_t zero_point : zero_points_)
    zero_points_i32_.push_back(static_cast<int32_t>(zero_point));
}

bool PerChannelAffineQuantizer::equalTo(const Quantizer& other) const {
  const auto* that = dynamic_cast<const PerChannelAffineQuantizer*>(&other);
  return that != nullptr && scalar_type() == that->scalar_type() && scales_ == that->scales_ &&
         zero_points_ == that->zero_points_ && axis_ == that->axis_;
}

AffineParameters PerChannelAffineQuantizer::parameters() const {
  const auto channels = static_cast<int64_t>(scales_.size());
  return {storage_of(scalar_type()), contiguous_view(scales_f32_.data(), DType::float32, channels),
          contiguous_view(zero_points_i32_.data(), DType::int32, channels), true, axis_};
}

QuantizeVal PerChannelAffineQuantizer::quantize_op() const {
  return {"PerChannelAffineQuantizer.quantize", "x", parameters()};
}

DequantizeVal PerChannelAffineQuantizer::dequantize_op() const {
  return {"PerChannelAffineQuantizer.dequantize", "q", parameters()};
}

Status PerChannelAffineQuantizer::check_arrays(const char* name, const TensorView& scales,
                                               const TensorView& zero_points) {
  if (!scales.present) return missing(name, "scales");
  if (!zero_points.present) return missing(name, "zero_points");
  NPU_QUANT_RETURN_IF_ERROR(
      check_dtype_in(name, "scales", scales, {DType::float32, DType::float64}));
  NPU_QUANT_RETURN_IF_ERROR(
      check_dtype_in(name, "zero_points", zero_points, {DType::int32, DType::int64}));
  const char* remedy = "It holds one element per channel.";
  NPU_QUANT_RETURN_IF_ERROR(check_rank(name, "scales", scales, 1, 1, remedy));
  return check_rank(name, "zero_points", zero_points, 1, 1, remedy);
}

Status make_per_channel_affine_quantizer(const TensorView& scales, const TensorView& zero_points,
                                         int64_t axis, ScalarType scalar_type,
                                         std::unique_ptr<PerChannelAffineQuantizer>& quantizer,
                                         const char* name) try {
  NPU_QUANT_RETURN_IF_ERROR(PerChannelAffineQuantizer::check_arrays(name, scales, zero_points));
  NPU_QUANT_RETURN_IF_ERROR(check_axis(name, axis));
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "zero_points", zero_points, "scales", scales));
  auto integers = zero_points_in(zero_points);
  NPU_QUANT_RETURN_IF_ERROR(check_zero_points(name, integers, scalar_type));
  quantizer = std::make_unique<PerChannelAffineQuantizer>(scalar_type, scales_in(scales),
                                                          std::move(integers), axis);
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory(name);
}

}  // namespace npu_quant
