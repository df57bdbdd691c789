#include "ops/add_rms_norm_quant.h"

#include "ops/norm_rows.h"

namespace npu_quant {

Inputs AddRmsNormQuant::inputs() {
  return Inputs::of(required("x1", x1), required("x2", x2), required("gamma", gamma),
                    required("scales1", scales1, DType::float32),
                    optional("zero_points1", zero_points1, DType::int32), optional("beta", beta),
                    optional("scales2", scales2, DType::float32),
                    optional("zero_points2", zero_points2, DType::int32));
}

Attributes AddRmsNormQuant::attributes() {
  return Attributes::of(required("axis", axis), required("epsilon", epsilon),
                        required("div_mode", div_mode), optional("dst_type", dst_type));
}

Status AddRmsNormQuant::check_dtypes() const {
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(name, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, "x2", x2, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, "gamma", gamma, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, "beta", beta, "x1", x1));
  const auto check = [this](const char* argument, const TensorView& view, auto allowed) {
    return check_dtype_in_or_same(name, argument, view, allowed, "x1", x1);
  };
  const std::initializer_list<DType> of_scales = {DType::float32},
                                     of_zero_points = {DType::int32, DType::float32};
  NPU_QUANT_RETURN_IF_ERROR(check("scales1", scales1, of_scales));
  NPU_QUANT_RETURN_IF_ERROR(check("scales2", scales2, of_scales));
  NPU_QUANT_RETURN_IF_ERROR(check("zero_points1", zero_points1, of_zero_points));
  return check("zero_points2", zero_points2, of_zero_points);
}

Status AddRmsNormQuant::check_ranks() const {
  const auto has_axis = [this](const char* argument, const TensorView& view) {
    return check_rank(name, argument, view, 1, kMaxRank);
  };
  const auto quantizes = [this](const char* argument, const TensorView& view) {
    return check_rank(name, argument, view, 0, kMaxRank,
                      "It holds one element, or one per element of gamma.");
  };
  NPU_QUANT_RETURN_IF_ERROR(has_axis("x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(has_axis("gamma", gamma));
  NPU_QUANT_RETURN_IF_ERROR(quantizes("scales1", scales1));
  NPU_QUANT_RETURN_IF_ERROR(quantizes("zero_points1", zero_points1));
  NPU_QUANT_RETURN_IF_ERROR(quantizes("scales2", scales2));
  return quantizes("zero_points2", zero_points2);
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
                     {"expected that of ", Argument("gamma"), ", ", gamma.shape,
                      ", its last axis or one element"});
}

Status AddRmsNormQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "x1", x1, codes(), outputs[kY1].dtype));
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "x2", x2, "x1", x1));
  const int lead = x1.rank - gamma.rank;
  bool trails = lead >= 0;
  for (int i = 0; i < gamma.rank && trails; ++i)
    trails = gamma.shape.dims[i] == x1.shape.dims[lead + i];
  if (!trails)
    return wrong_shape(
        name, "gamma", gamma,
        {"expected the last axes of ", Argument("x1"), ", which has shape ", x1.shape});
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
