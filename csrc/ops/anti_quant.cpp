#include "ops/anti_quant.h"

#include "core/dispatch.h"
#include "ops/split/elementwise.h"

namespace npu_quant {
namespace {

constexpr Format kValues[] = {Format::float16, Format::bfloat16};

bool is_float(Format codes) { return codes != Format::int8 && codes != Format::int4; }

}  // namespace

Inputs AntiQuant::inputs() {
  static constexpr DType kCodes[] = {DType::int8, DType::int32, DType::uint8, DType::float8_e5m2,
                                     DType::float8_e4m3fn},
                         kScales[] = {DType::float32, DType::bfloat16};
  static constexpr Takes of_x = one_of(kCodes).ranks(1, kMaxRank),
                         of_tensor = Takes{}.ranks(1, kMaxRank).lists_to(DType::int8),
                         of_scale = one_of(kScales).made_of(DType::float32).any_rank(),
                         of_floats = one_of(kFloat32).made_of(DType::float32).any_rank(),
                         of_offset = like(1).lists_to(DType::float32).any_rank();
  const bool is_tensors = x.dtype == DType::int4 || x.dtype == DType::hifloat8;  // an aclTensor's
  return Inputs::of(required("x", x, is_tensors ? of_tensor : of_x),
                    required("scale", scale, is_float(codes_in(x.dtype)) ? of_floats : of_scale),
                    optional("offset", offset, of_offset));
}

Attributes AntiQuant::attributes() {
  return Attributes::of(optional("dst_dtype", dst_dtype), optional("src_dtype", src_dtype));
}

Status AntiQuant::check_ranks(const Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_ranks(given));
  if (scale.rank == 1 || scale.rank == x.rank) return {};
  Text allowed = "expected 1";
  if (x.rank > 1) allowed += {" or ", x.rank};
  return fault(name, Fault::rank, {Argument("scale")}, {"has ", dimensions(scale.rank)},
               allowed + has_rank({"x", x}),
               scale.rank == 0 ? "Give it an axis with scale.reshape(1)." : "");
}

void AntiQuant::plan_outputs() {
  const Format values = dst_dtype.is_default ? Format::float16 : dst_dtype.format;
  codes_ = codes_in(x.dtype);
  shape_ = x.shape;
  shape_.dims[x.rank - 1] *= codes_per_element(codes_, x.dtype);
  outputs.assign(OutputSpec{"", plain_dtype(values), shape_});
}

Status AntiQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_format_in(name, "dst_dtype", dst_dtype, kValues));
  if (sqrt_mode && is_float(codes_))
    return refuse("sqrt_mode", "true", {"expected false for ", Argument("x"), " of ", codes_});
  if (src_dtype.is_default || src_dtype.format == codes_) return {};
  return refuse("src_dtype", src_dtype.came(), none_or_held({"x", x}, codes_));
}

// One element, or as many as the last axis of y has, or the one before it.
Status AntiQuant::check_scale() {
  std::string forms;
  for (int axis = x.rank; axis >= 0 && axis >= x.rank - 2; --axis) {
    const Shape form = shape_along(shape_, axis, scale.rank);
    if (form.size() == 0) continue;
    if (scale.shape == form) return channel_axis_ = axis, Status{};
    const std::string text = to_string(form);
    if (forms.find(text) == std::string::npos) forms += (forms.empty() ? "" : ", ") + text;
  }
  return wrong_shape(name, "scale", scale,
                     {"expected one of ", forms, ": one element, or the length of ",
                      x.rank == 1 ? "" : "axis -1 or -2 of ",
                      shape_ == x.shape ? "" : "the codes in ", Argument("x")});
}

Status AntiQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_scale());
  return check_same_shape(name, "offset", offset, "scale", scale);
}

Status AntiQuant::run(const TensorView* out) const {
  const int64_t channels = scale.shape.size();
  Parameter scales, offsets;
  NPU_QUANT_RETURN_IF_ERROR(scales.assign(name, scale, channels));
  NPU_QUANT_RETURN_IF_ERROR(offsets.assign(name, offset, channels));
  int64_t along[kMaxRank] = {};
  if (channels > 1) along[channel_axis_] = sizeof(float);
  const CodeStrides of_codes(x, is_packed(codes_));
  const Elementwise<AntiQuantKernel::kParameters> work(shape_,
                                                       {{x.data, of_codes.data(), of_codes.item()},
                                                        {out[kY].data, out[kY].strides},
                                                        {scales.data(), along},
                                                        {offsets.data(), along}});
  work.for_each_part(*this, {&x, &out[kY]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<AntiQuantKernel>(
        {.work = part, .codes = codes_, .y_dtype = outputs[kY].dtype, .sqrt_mode = sqrt_mode});
  });
  return {};
}

}  // namespace npu_quant
