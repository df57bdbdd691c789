#include "ops/anti_quant.h"

#include "kernels/anti_quant.h"
#include "ops/elementwise.h"

namespace npu_quant {
namespace {

// What torch_npu takes and this library does not, if the dtype is one of them.
std::string unavailable_type(const TensorView& x) {
  const std::string dtype = x.dtype_name;
  if (x.dtype == DType::int32) return "int4 packed in int32";
  if (x.dtype == DType::uint8) return "hifloat8 in uint8";
  for (const char* other : {"int4", "hifloat8", "float8_e5m2", "float8_e4m3fn"})
    if (dtype == other) return dtype;
  return "";
}

std::string dimensions(const char* name, const TensorView& view) {
  return std::string(name) + " has " + std::to_string(view.rank) +
         (view.rank == 1 ? " dimension" : " dimensions");
}

// The shape of a scale of that rank along an axis of x; of one element where `axis` is x.rank.
Shape shape_along(const TensorView& x, int axis, int rank) {
  const int64_t length = axis < x.rank ? x.shape.dims[axis] : 1;
  Shape shape{rank, {}};
  for (int i = 0; i < rank; ++i) shape.dims[i] = rank == 1 || i == axis ? length : 1;
  return shape;
}

}  // namespace

Status AntiQuant::check_dtypes() const {
  if (const std::string type = unavailable_type(x); !type.empty())
    return fault(kName, Fault::dtype,
                 std::string("x has dtype ") + x.dtype_name + ", available: int8 (" + type +
                     " is not available).");
  NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, "x", x, {DType::int8}));
  NPU_QUANT_RETURN_IF_ERROR(
      check_dtype_in(kName, "scale", scale, {DType::float32, DType::bfloat16}));
  return offset.present ? check_same_dtype(kName, "offset", offset, "scale", scale) : Status{};
}

Status AntiQuant::check_ranks() const {
  NPU_QUANT_RETURN_IF_ERROR(check_rank(
      kName, "x", x, 1, kMaxRank,
      x.rank == 0 ? "Give it an axis with x.reshape(1)." : "Merge axes with x.reshape."));
  if (scale.rank == 1 || scale.rank == x.rank) return {};
  const std::string wanted = x.rank == 1 ? "1" : "1 or " + std::to_string(x.rank);
  return fault(kName, Fault::rank,
               dimensions("scale", scale) + ", expected " + wanted + " for x of " +
                   std::to_string(x.rank) + ".",
               scale.rank == 0 ? "Give it an axis with scale.reshape(1)." : "");
}

Status AntiQuant::check_arrays() const {
  if (!x.present) return missing(kName, "x");
  if (!scale.present) return missing(kName, "scale");
  NPU_QUANT_RETURN_IF_ERROR(check_dtypes());
  return check_ranks();
}

Status AntiQuant::check_attributes() const {
  if (!dst_dtype.is_default && dst_dtype.dtype != DType::float16 &&
      dst_dtype.dtype != DType::bfloat16)
    return fault(kName, Fault::unavailable,
                 "dst_dtype is " + shortened(dst_dtype.text) + ", available: float16, bfloat16.",
                 "Name it by torch_npu's code (5, 15), a dtype or its name.");
  if (src_dtype.is_default || src_dtype.dtype == x.dtype) return {};
  return fault(kName, Fault::attribute,
               "src_dtype is " + shortened(src_dtype.text) + ", expected None or that of x, " +
                   x.dtype_name + ".");
}

// One element, or as many as the last axis of x has, or the one before it.
Status AntiQuant::check_scale() {
  std::string forms;
  for (int axis = x.rank; axis >= 0 && axis >= x.rank - 2; --axis) {
    const Shape form = shape_along(x, axis, scale.rank);
    if (form.size() == 0) continue;
    if (scale.shape == form) return channel_axis_ = axis, Status{};
    const std::string text = to_string(form);
    if (forms.find(text) == std::string::npos) forms += (forms.empty() ? "" : ", ") + text;
  }
  const std::string length = x.rank == 1 ? "x" : "axis -1 or -2 of x";
  return fault(kName, Fault::shape,
               "scale has shape " + to_string(scale.shape) + ", expected one of " + forms +
                   ": one element, or the length of " + length + ".");
}

Status AntiQuant::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  outputs[kY] = {"", dst_dtype.is_default ? DType::float16 : dst_dtype.dtype, x.shape};
  NPU_QUANT_RETURN_IF_ERROR(check_attributes());
  NPU_QUANT_RETURN_IF_ERROR(check_scale());
  if (offset.present)
    NPU_QUANT_RETURN_IF_ERROR(check_same_shape(kName, "offset", offset, "scale", scale));
  return {};
}

int64_t AntiQuant::bytes() const {
  return x.shape.size() * (size_of(x.dtype) + size_of(outputs[kY].dtype));
}

Status AntiQuant::check_outputs(const TensorView* out) const {
  return npu_quant::check_outputs(kName, {{"x", x}, {"scale", scale}, {"offset", offset}}, outputs,
                                  out, kOutputs);
}

Status AntiQuant::run(const TensorView* out) const {
  const int64_t channels = scale.shape.size();
  Parameter scales, offsets;
  NPU_QUANT_RETURN_IF_ERROR(scales.assign(kName, scale, channels));
  NPU_QUANT_RETURN_IF_ERROR(offsets.assign(kName, offset, channels));
  int64_t strides[kMaxRank] = {};
  if (channels > 1) strides[channel_axis_] = sizeof(float);
  enum { kX, kScale, kOffset, kValues, kTensors };
  const Elementwise<kTensors> work(x.shape, kX, kValues,
                                   {x.strides, strides, strides, out[kY].strides});
  const bool stream = worth_streaming(bytes());
  work.for_each_part({x.data, scales.data(), offsets.data(), out[kY].data},
                     work_bytes(bytes(), {&x, &out[kY]}), [&](const auto& part) {
                       run_on_active_target<AntiQuantKernel>({.y_dtype = outputs[kY].dtype,
                                                              .rows = part.rows,
                                                              .n = part.n,
                                                              .x = part.at[kX],
                                                              .y = part.at[kValues],
                                                              .scale = part.at[kScale],
                                                              .offset = part.at[kOffset],
                                                              .sqrt_mode = sqrt_mode,
                                                              .stream = stream});
                     });
  return {};
}

}  // namespace npu_quant
