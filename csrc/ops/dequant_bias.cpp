#include "ops/dequant_bias.h"

#include "core/dispatch.h"
#include "ops/split/elementwise.h"
#include "ops/split/parameter.h"

namespace npu_quant {

Inputs DequantBias::inputs() {
  static constexpr const char kPerColumn[] = "It holds one element per column.";
  static constexpr DType kScales[] = {DType::float32, DType::bfloat16},
                         kBiases[] = {DType::int32, DType::float32, DType::float16,
                                      DType::bfloat16};
  static constexpr Takes
      of_x = one_of(kInt32).made_of(DType::int32).ranks(2, 2),
      of_weights = one_of(kScales).made_of(DType::float32).ranks(1, 1, kPerColumn),
      of_activations =
          one_of(kFloat32).made_of(DType::float32).ranks(1, 1, "It holds one element per row."),
      of_bias = one_of(kBiases).made_of(DType::int32).ranks(1, 1, kPerColumn);
  return Inputs::of(required("x", x, of_x), required("weight_scale", weight_scale, of_weights),
                    optional("activation_scale", activation_scale, of_activations),
                    optional("bias", bias, of_bias));
}

Attributes DequantBias::attributes() {
  return Attributes::of(optional("output_dtype", output_dtype));
}

void DequantBias::plan_outputs() {
  const Format values = output_dtype.is_default ? Format::float16 : output_dtype.format;
  outputs.assign(OutputSpec{"", plain_dtype(values), x.shape});
}

Status DequantBias::check_attributes() {
  static constexpr Format kFloatsOf16Bits[] = {Format::float16, Format::bfloat16};
  return check_format_in(name, "output_dtype", output_dtype, kFloatsOf16Bits);
}

Status DequantBias::check_shapes() {
  const auto check = [&](const char* argument, const TensorView& view, int axis) -> Status {
    const Shape expected = shape_along(x.shape, axis, 1);
    if (!view.present || view.shape == expected) return {};
    return wrong_shape(name, argument, view,
                       {"expected ", expected, ": an element for each ",
                        axis == 0 ? "row" : "column", " of ", Argument("x")});
  };
  NPU_QUANT_RETURN_IF_ERROR(check("weight_scale", weight_scale, 1));
  NPU_QUANT_RETURN_IF_ERROR(check("activation_scale", activation_scale, 0));
  return check("bias", bias, 1);
}

Status DequantBias::run(const TensorView* out) const {
  const int64_t rows = x.shape.dims[0], columns = x.shape.dims[1];
  const Bias kind = bias_kind(bias);
  Parameter weights, activations, biases;
  NPU_QUANT_RETURN_IF_ERROR(weights.assign(name, weight_scale, columns));
  if (kind != Bias::none)
    NPU_QUANT_RETURN_IF_ERROR(biases.assign(name, taken_as_bytes(bias), columns));
  activations.assign(1.0);
  if (activation_scale.present)
    NPU_QUANT_RETURN_IF_ERROR(activations.assign(name, activation_scale, rows));
  const int64_t per_column[] = {0, sizeof(float)},
                per_row[] = {activation_scale.present ? static_cast<int64_t>(sizeof(float)) : 0, 0};
  const Elementwise<DequantBiasKernel::kParameters> work(
      x.shape, {{x.data, x.strides},
                {out[kY].data, out[kY].strides},
                {weights.data(), per_column},
                {activations.data(), per_row},
                {kind == Bias::none ? weights.data() : biases.data(), per_column}});
  work.for_each_part(*this, {&x, &out[kY]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<DequantBiasKernel>(
        {.work = part, .y_dtype = outputs[kY].dtype, .bias = kind});
  });
  return {};
}

}  // namespace npu_quant
