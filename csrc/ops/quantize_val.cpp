#include "ops/quantize_val.h"

#include "kernels/quantize_val.h"
#include "ops/elementwise.h"

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

Status AffineOp::check_rank_of_value() const {
  return check_rank(
      kName, kValueName, value, parameters.per_channel ? 1 : 0, kMaxRank,
      value.rank == 0 ? "Give it an axis with reshape(1)." : "Merge axes with reshape.");
}

Status AffineOp::check_channels() {
  if (!parameters.per_channel) return {};
  NPU_QUANT_RETURN_IF_ERROR(
      check_channel_axis(kName, parameters.axis, value, kValueName, channel_axis_));
  const int64_t channels = parameters.scale.shape.dims[0];
  if (value.shape.dims[channel_axis_] == channels) return {};
  return fault(kName, Fault::shape,
               std::string(kValueName) + " has shape " + to_string(value.shape) + ", expected " +
                   std::to_string(channels) + " along axis " + std::to_string(parameters.axis) +
                   ", the number of scales.");
}

Status QuantizeVal::check_arrays() const {
  if (!value.present) return missing(kName, kValueName);
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, kValueName, value));
  return check_rank_of_value();
}

Status QuantizeVal::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  NPU_QUANT_RETURN_IF_ERROR(check_channels());
  outputs[kQ] = {"", parameters.storage, value.shape};
  return {};
}

int64_t QuantizeVal::bytes() const {
  return value.shape.size() * (size_of(value.dtype) + size_of(parameters.storage));
}

Status QuantizeVal::check_outputs(const TensorView* out) const {
  return npu_quant::check_outputs(kName, {{kValueName, value}}, outputs, out, kOutputs);
}

Status QuantizeVal::run(const TensorView* out) const {
  const int64_t channels = parameters.scale.shape.dims[0];
  Parameter scale, inverse, zero_point;
  NPU_QUANT_RETURN_IF_ERROR(scale.assign(kName, parameters.scale, channels));
  NPU_QUANT_RETURN_IF_ERROR(inverse.assign_reciprocals(kName, scale));
  NPU_QUANT_RETURN_IF_ERROR(zero_point.assign(kName, parameters.zero_point, channels));
  const ChannelStrides along(parameters, channel_axis_);
  enum { kX, kInverse, kZeroPoint, kCodes, kTensors };
  const Elementwise<kTensors> work(value.shape, kX, kCodes,
                                   {value.strides, along.strides, along.strides, out->strides});
  work.for_each_part(
      {value.data, inverse.data(), zero_point.data(), out->data},
      work_bytes(bytes(), {&value, &out[kQ]}), [&](const auto& part) {
        run_on_active_target<QuantizeValKernel>({.x_dtype = value.dtype,
                                                 .q_dtype = parameters.storage,
                                                 .rows = part.rows,
                                                 .n = part.n,
                                                 .x = part.at[kX],
                                                 .q = part.at[kCodes],
                                                 .inverse = part.at[kInverse],
                                                 .zero_point = part.at[kZeroPoint],
                                                 .stream = worth_streaming(bytes())});
      });
  return {};
}

Status DequantizeVal::check_arrays() const {
  if (!value.present) return missing(kName, kValueName);
  if (parameters.storage == DType::other) {
    NPU_QUANT_RETURN_IF_ERROR(
        check_dtype_in(kName, kValueName, value, {DType::int8, DType::uint8, DType::int32}));
  } else {
    NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, kValueName, value, {parameters.storage}));
  }
  return check_rank_of_value();
}

Status DequantizeVal::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  NPU_QUANT_RETURN_IF_ERROR(check_channels());
  outputs[kX] = {"", DType::float32, value.shape};
  return {};
}

int64_t DequantizeVal::bytes() const {
  return value.shape.size() * (size_of(DType::float32) + size_of(parameters.storage));
}

Status DequantizeVal::check_outputs(const TensorView* out) const {
  return npu_quant::check_outputs(kName, {{kValueName, value}}, outputs, out, kOutputs);
}

Status DequantizeVal::run(const TensorView* out) const {
  const ChannelStrides along(parameters, channel_axis_);
  enum { kCodes, kScale, kZeroPoint, kValues, kTensors };
  const Elementwise<kTensors> work(value.shape, kCodes, kValues,
                                   {value.strides, along.strides, along.strides, out->strides});
  work.for_each_part(
      {value.data, parameters.scale.data, parameters.zero_point.data, out->data},
      work_bytes(bytes(), {&value, &out[kX]}), [&](const auto& part) {
        run_on_active_target<DequantizeValKernel>({.q_dtype = parameters.storage,
                                                   .rows = part.rows,
                                                   .n = part.n,
                                                   .q = part.at[kCodes],
                                                   .x = part.at[kValues],
                                                   .scale = part.at[kScale],
                                                   .zero_point = part.at[kZeroPoint],
                                                   .stream = worth_streaming(bytes())});
      });
  return {};
}

}  // namespace npu_quant
