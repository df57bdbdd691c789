#include "ops/rms_norm.h"

namespace npu_quant {
namespace {

using Kernel = RmsNormKernel;

constexpr DType kOffsets[] = {DType::int32, DType::int8, DType::float32};
constexpr const char* kOneOrPerElement = "It holds one element, or one per element of a row.";
constexpr Takes kX = floats().ranks(1, kMaxRank),
                kScale = one_of(kFloat32).or_like(0).ranks(1, 1, kOneOrPerElement),
                kOffset = one_of(kOffsets).or_like(0).ranks(1, 1, kOneOrPerElement);

}  // namespace

NormCall RmsNorm::norm_call() const {
  gamma_row_ = last_axis_of(gamma);
  beta_row_ = last_axis_of(beta);
  NormCall call{.op = *this,
                .codes = codes(),
                .epsilon = epsilon,
                .tensors = {},
                .gamma = &gamma_row_,
                .beta = &beta_row_,
                .quantizers = {}};
  for (const TensorView*& tensor : call.tensors) tensor = &kAbsent;
  call.tensors[Kernel::kX1] = &x;
  return call;
}

Status RmsNorm::check_attributes() {
  return check_format_in(name, "dst_dtype", dst_dtype, kCodeFormats);
}

Status RmsNorm::take_rule() {
  rule = reference_rule(codes());
  return Op::take_rule();
}

Status RmsNorm::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, x_name_, x, codes(), outputs[0].dtype));
  NPU_QUANT_RETURN_IF_ERROR(check_weight("gamma", gamma));
  return check_weight("beta", beta);
}

Status RmsNorm::check_weight(const char* argument, const TensorView& view) const {
  return check_norm_weight(name, argument, view, x_name_, columns());
}

Inputs RmsNormQuant::inputs() {
  return Inputs::of(required("x", x, kX), required("gamma", gamma, kWeight),
                    required("beta", beta, kWeight), required("scale", scale, kScale),
                    required("offset", offset, kOffset));
}

Attributes RmsNormQuant::attributes() {
  return Attributes::of(required("epsilon", epsilon), optional("dst_dtype", dst_dtype));
}

void RmsNormQuant::plan_outputs() {
  outputs.assign(codes_of("", codes(), x.shape, dst_dtype.array));
}

Status RmsNormQuant::check_parameter(const char* argument, const TensorView& view) const {
  if (!view.present || view.shape.size() == 1 || view.shape.dims[0] == columns()) return {};
  return wrong_shape(name, argument, view,
                     {"expected (1,) or ", Shape{1, {columns()}},
                      ": one element, or the length of the last axis of ", Argument("x")});
}

Status RmsNormQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(RmsNorm::check_shapes());
  NPU_QUANT_RETURN_IF_ERROR(check_parameter("scale", scale));
  return check_parameter("offset", offset);
}

Status RmsNormQuant::run(const TensorView* out) const {
  NormCall call = norm_call();
  call.tensors[Kernel::kY1] = &out[0];
  if (outputs.size() > 1) call.tensors[Kernel::kRstd] = &out[RmsNormQuantV2::kRstd];
  call.quantizers[0] = {&scale, &offset};
  call.divide = div_mode;
  return run_norm(call);
}

Inputs RmsNormQuantV2::inputs() {
  return Inputs::of(required("x", x, kX), required("gamma", gamma, kWeight),
                    required("scale", scale, kScale), optional("offset", offset, kOffset),
                    optional("beta", beta, kWeight));
}

Attributes RmsNormQuantV2::attributes() {
  return Attributes::of(required("epsilon", epsilon), required("div_mode", div_mode),
                        optional("dst_dtype", dst_dtype));
}

void RmsNormQuantV2::plan_outputs() {
  Shape one = x.shape;
  one.dims[one.rank - 1] = 1;
  outputs.assign(codes_of("y", codes(), x.shape, dst_dtype.array),
                 OutputSpec{"rstd", DType::float32, one});
}

Inputs RmsNormDynamicQuant::inputs() {
  return Inputs::of(required("x", x, kX), required("gamma", gamma, kWeight),
                    optional("smooth_scale", smooth_scale, kWeight),
                    optional("beta", beta, kWeight));
}

Attributes RmsNormDynamicQuant::attributes() {
  return Attributes::of(required("epsilon", epsilon));
}

void RmsNormDynamicQuant::plan_outputs() {
  outputs.assign(codes_of("y", codes(), x.shape, dst_dtype.array),
                 OutputSpec{"scale", DType::float32, rows_of(x.shape)});
}

Status RmsNormDynamicQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(RmsNorm::check_shapes());
  return check_weight("smooth_scale", smooth_scale);
}

Status RmsNormDynamicQuant::run(const TensorView* out) const {
  const TensorView smooth = last_axis_of(smooth_scale);
  NormCall call = norm_call();
  call.dynamic = true;
  call.tensors[Kernel::kY1] = &out[kY];
  call.tensors[Kernel::kScale1] = &out[kScale];
  call.quantizers[0].smooth = &smooth;
  return run_norm(call);
}

}  // namespace npu_quant
