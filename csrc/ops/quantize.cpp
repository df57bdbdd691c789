#include "ops/quantize.h"

#include "kernels/quantize.h"
#include "ops/elementwise.h"

namespace npu_quant {
namespace {

bool holds_one(const TensorView& view) { return !view.present || view.shape.size() == 1; }

}  // namespace

bool Quantize::is_per_channel() const { return !holds_one(scales) || !holds_one(zero_points); }

Status Quantize::check_arrays() const {
  if (!self.present) return missing(kName, "self");
  if (!scales.present) return missing(kName, "scales");
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "self", self));
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "scales", scales));
  if (zero_points.present)
    NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, "zero_points", zero_points,
                                             {DType::int8, DType::uint8, DType::int32,
                                              DType::float16, DType::bfloat16, DType::float32}));
  NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, "self", self, 0, kMaxRank, Code::param_invalid,
                                       "Merge axes with self.reshape."));
  NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, "scales", scales, 0, kMaxRank, Code::param_invalid,
                                       "It holds one element, or one per channel."));
  if (zero_points.present)
    NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, "zero_points", zero_points, 0, kMaxRank,
                                         Code::param_invalid,
                                         "It holds one element, or one per channel."));
  return {};
}

// With div_mode=False torch_npu takes an axis of -1 and above for the last one.
Status Quantize::check_axis() {
  if (!div_mode && axis < -2)
    return param_fault(
        kName, "axis is " + std::to_string(axis) + ", available with div_mode=False: -1 or -2.");
  if (!is_per_channel()) return {};
  const int64_t wanted = div_mode || axis < -1 ? axis : -1;
  return check_channel_axis(kName, wanted, self, "self", channel_axis_);
}

Status Quantize::check_parameter(const char* name, const TensorView& parameter) const {
  if (holds_one(parameter)) return {};
  const int64_t channels = self.shape.dims[channel_axis_];
  const Shape vector{1, {channels}};
  Shape full{self.rank, {}};
  for (int i = 0; i < self.rank; ++i) full.dims[i] = i == channel_axis_ ? channels : 1;
  if (parameter.shape == vector || (!div_mode && parameter.shape == full)) return {};
  const std::string forms = div_mode || self.rank == 1
                                ? " or " + to_string(vector)
                                : ", " + to_string(vector) + " or " + to_string(full);
  const int64_t named = div_mode || axis < -1 ? axis : -1;
  return param_fault(kName, std::string(name) + " has shape " + to_string(parameter.shape) +
                                ", expected one element" + forms + ": the length of axis " +
                                std::to_string(named) + " of self.");
}

Status Quantize::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  if (dtype.dtype != DType::int8 && dtype.dtype != DType::uint8 && dtype.dtype != DType::int32)
    return param_fault(kName, "dtype is " + shortened(dtype.text) +
                                  ", available: int8, uint8, int32 (torch_npu codes 1, 0, 3 or of "
                                  "qint8, quint8, qint32; a dtype or its name).");
  NPU_QUANT_RETURN_IF_ERROR(check_axis());
  NPU_QUANT_RETURN_IF_ERROR(check_parameter("scales", scales));
  NPU_QUANT_RETURN_IF_ERROR(check_parameter("zero_points", zero_points));
  outputs[kY] = {"", dtype.dtype, self.shape};
  return {};
}

int64_t Quantize::bytes() const {
  return self.shape.size() * (size_of(self.dtype) + size_of(dtype.dtype));
}

Status Quantize::run(const TensorView* out) const {
  NPU_QUANT_RETURN_IF_ERROR(
      check_outputs(kName, {{"self", self}, {"scales", scales}, {"zero_points", zero_points}},
                    outputs, out, kOutputs, kOutCode));
  const int64_t channels = is_per_channel() ? self.shape.dims[channel_axis_] : 1;
  Parameter scale, inverse, zero_point;
  NPU_QUANT_RETURN_IF_ERROR(scale.assign(kName, scales, channels));
  NPU_QUANT_RETURN_IF_ERROR(inverse.assign_reciprocals(kName, scale));
  NPU_QUANT_RETURN_IF_ERROR(zero_point.assign(kName, zero_points, channels));
  int64_t strides[kMaxRank] = {};
  if (channels > 1) strides[channel_axis_] = sizeof(float);
  enum { kX, kScale, kInverse, kZeroPoint, kCodes, kTensors };
  const Elementwise<kTensors> work(self.shape, kCodes,
                                   {self.strides, strides, strides, strides, out[kY].strides});
  const bool stream = worth_streaming(bytes());
  const Parameter::Bounds held = scale.bounds_of_magnitudes();
  work.for_each_part({self.data, scale.data(), inverse.data(), zero_point.data(), out[kY].data},
                     work_bytes(bytes(), {&self, &out[kY]}), [&](const auto& part) {
                       run_on_active_target<QuantizeKernel>(
                           {self.dtype, dtype.dtype, part.rows, part.n, part.at[kX],
                            part.at[kCodes], part.at[kScale], part.at[kInverse],
                            part.at[kZeroPoint], held.least, held.greatest, div_mode, stream});
                     });
  return {};
}

}  // namespace npu_quant
