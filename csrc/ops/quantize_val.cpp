#include "ops/quantize_val.h"

#include "core/dispatch.h"
#include "ops/split/elementwise.h"

namespace npu_quant {
namespace {

// Strides of the parameters along a value's axes.
struct ChannelStrides {
  int64_t strides[kMaxRank] = {};

  ChannelStrides(const AffineParameters& parameters, int channel_axis) {
    if (parameters.per_channel && parameters.scale.shape.dims[0] > 1)
      strides[channel_axis] = sizeof(float);
  }
};

}  // namespace

Status AffineOp::check_shapes() {
  if (!parameters.per_channel) return {};
  NPU_QUANT_RETURN_IF_ERROR(
      check_channel_axis(name, parameters.axis, value, value_name, channel_axis_));
  const int64_t channels = parameters.scale.shape.dims[0];
  if (value.shape.dims[channel_axis_] == channels) return {};
  return wrong_shape(
      name, value_name, value,
      {"expected length ", channels, " along axis ", parameters.axis, ", the number of scales"});
}

void QuantizeVal::plan_outputs() {
  outputs.assign(OutputSpec{"", parameters.storage, value.shape});
}

Status QuantizeVal::run(const TensorView* out) const {
  const int64_t channels = parameters.scale.shape.dims[0];
  Parameter scale, inverse, zero_point;
  NPU_QUANT_RETURN_IF_ERROR(scale.assign(name, parameters.scale, channels));
  NPU_QUANT_RETURN_IF_ERROR(inverse.assign_reciprocals(name, scale));
  NPU_QUANT_RETURN_IF_ERROR(zero_point.assign(name, parameters.zero_point, channels));
  const ChannelStrides along(parameters, channel_axis_);
  const Elementwise<QuantizeValKernel::kParameters> work(value.shape,
                                                         {{value.data, value.strides},
                                                          {out[kQ].data, out[kQ].strides},
                                                          {inverse.data(), along.strides},
                                                          {zero_point.data(), along.strides}});
  work.for_each_part(*this, {&value, &out[kQ]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<QuantizeValKernel>(
        {.work = part, .x_dtype = value.dtype, .codes = format_of(parameters.storage)});
  });
  return {};
}

Takes DequantizeVal::value_takes() const {
  static constexpr DType kStorages[] = {DType::int8, DType::uint8, DType::int32};
  const bool is_known = parameters.storage != DType::other;
  return one_of(is_known ? std::span(&parameters.storage, 1) : std::span<const DType>(kStorages))
      .ranks(parameters.per_channel ? 1 : 0, kMaxRank);
}

void DequantizeVal::plan_outputs() { outputs.assign(OutputSpec{"", DType::float32, value.shape}); }

Status DequantizeVal::run(const TensorView* out) const {
  const ChannelStrides along(parameters, channel_axis_);
  const Elementwise<DequantizeValKernel::kParameters> work(
      value.shape, {{value.data, value.strides},
                    {out[kX].data, out[kX].strides},
                    {parameters.scale.data, along.strides},
                    {parameters.zero_point.data, along.strides}});
  work.for_each_part(*this, {&value, &out[kX]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<DequantizeValKernel>(
        {.work = part, .codes = format_of(parameters.storage)});
  });
  return {};
}

}  // namespace npu_quant
