#include "ops/add_rms_norm_quant.h"

#include "ops/split/norm_rows.h"

namespace npu_quant {

Inputs AddRmsNormQuant::inputs() {
  static constexpr const char* kRemedy = "It holds one element, or one per element of gamma.";
  static constexpr DType kZeroPoints[] = {DType::int32, DType::float32};
  static constexpr Takes of_x1 = floats().ranks(1, kMaxRank), of_gamma = like(0).ranks(1, kMaxRank),
                         of_shape = like(0).any_rank(),
                         of_scales = one_of(kFloat32).or_like(0).ranks(0, kMaxRank, kRemedy),
                         of_zero_points =
                             one_of(kZeroPoints).or_like(0).ranks(0, kMaxRank, kRemedy);
  return Inputs::of(required("x1", x1, of_x1), required("x2", x2, of_shape),
                    required("gamma", gamma, of_gamma), required("scales1", scales1, of_scales),
                    optional("zero_points1", zero_points1, of_zero_points),
                    optional("beta", beta, of_shape), optional("scales2", scales2, of_scales),
                    optional("zero_points2", zero_points2, of_zero_points));
}

Attributes AddRmsNormQuant::attributes() {
  return Attributes::of(required("axis", axis), required("epsilon", epsilon),
                        required("div_mode", div_mode), optional("dst_type", dst_type));
}

void AddRmsNormQuant::plan_outputs() {
  const OutputSpec y1 = codes_of("y1", codes(), x1.shape, dst_type.array),
                   y2 = codes_of("y2", codes(), x1.shape, dst_type.array),
                   x{"x", x1.dtype, x1.shape}, rms_norm{"rms_norm", x1.dtype, x1.shape};
  if (with_rms_norm)
    outputs.assign(y1, y2, x, rms_norm);
  else
    outputs.assign(y1, y2, x);
}

Status AddRmsNormQuant::check_attributes() {
  if (axis != -1)
    return refuse("axis", axis,
                  {"available: -1 (the norm runs over all axes of ", Argument("gamma"), ")"});
  return check_dst_type(name, dst_type, kCodeFormats);
}

Status AddRmsNormQuant::check_quantizer_shape(const char* argument, const TensorView& view) const {
  if (!view.present || view.shape.size() == 1 || view.shape == gamma.shape) return {};
  const int last = view.rank - 1;
  bool ones = last >= 0 && view.shape.dims[last] == gamma.shape.dims[gamma.rank - 1];
  for (int i = 0; i < last; ++i) ones = ones && view.shape.dims[i] == 1;
  if (ones) return {};
  return wrong_shape(name, argument, view,
                     "expected " + the_shape({"gamma", gamma}) + ", its last axis, or one element");
}

Status AddRmsNormQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "x1", x1, codes(), outputs[kY1].dtype));
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "x2", x2, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_trailing_axes(name, "gamma", gamma, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "beta", beta, "gamma", gamma));
  NPU_QUANT_RETURN_IF_ERROR(check_quantizer_shape("scales1", scales1));
  NPU_QUANT_RETURN_IF_ERROR(check_quantizer_shape("zero_points1", zero_points1));
  NPU_QUANT_RETURN_IF_ERROR(check_quantizer_shape("scales2", scales2));
  return check_quantizer_shape("zero_points2", zero_points2);
}

Status AddRmsNormQuant::run(const TensorView* out) const {
  if (x1.shape.size() == 0) return {};
  const TensorView* const absent = &kAbsent;
  return run_norm({.op = *this,
                   .codes = codes(),
                   .epsilon = epsilon,
                   .tensors = {&x1, &x2, &out[kX], &out[kY1], &out[kY2],
                               with_rms_norm ? &out[kRmsNorm] : absent, absent, absent, absent},
                   .gamma = &gamma,
                   .beta = &beta,
                   .quantizers = {{&scales1, &zero_points1}, {&scales2, &zero_points2}},
                   .divide = div_mode});
}

}  // namespace npu_quant
