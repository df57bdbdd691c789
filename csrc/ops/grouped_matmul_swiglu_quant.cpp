#include "ops/grouped_matmul_swiglu_quant.h"

#include <cstring>

#include "ops/split/expert_rows.h"

namespace npu_quant {

Inputs GroupedMatmulSwigluQuant::inputs() {
  static constexpr DType kX[] = {DType::int8}, kWeights[] = {DType::int8, DType::int32},
                         kEnds[] = {DType::int64}, kScales[] = {DType::float32, DType::int64};
  static constexpr char kOfExperts[] = "It holds a matrix for each group.",
                        kOfColumns[] = "It holds a row for each group.";
  static constexpr Takes of_x = one_of(kX).ranks(2, 2),
                         of_weight = one_of(kWeights).ranks(3, 3, kOfExperts),
                         of_tensor = Takes{}.ranks(3, 3);  // an aclTensor's of int4
  static constexpr Takes
      of_ends = one_of(kEnds).made_of(DType::int64).ranks(1, 1, "It holds the end of each group."),
      of_scale = one_of(kFloat32).made_of(DType::float32).ranks(2, 2, kOfColumns),
      of_scales = one_of(kScales).made_of(DType::float32).ranks(2, 3, kOfColumns),
      of_rows =
          one_of(kFloat32).made_of(DType::float32).ranks(1, 1, "It holds one element per row.");
  return Inputs::of(required("x", x, of_x),
                    required("weight", weight, weight.dtype == DType::int4 ? of_tensor : of_weight),
                    required("group_list", group_list, of_ends),
                    required("weight_scale", weight_scale, is_int4() ? of_scales : of_scale),
                    required("x_scale", x_scale, of_rows), optional("bias", bias, of_scale),
                    optional("offset", offset));
}

// A weight of int4 needs a bias.
Status GroupedMatmulSwigluQuant::check_dtypes(const npu_quant::Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_dtypes(given));
  if (!is_int4() || bias.present) return {};
  return fault(name, Fault::dtype, {Argument("bias")}, {"is ", Nothing()},
               {"expected ", DType::float32, ": ", Argument("weight"), " is ", DTypeOf(weight)});
}

void GroupedMatmulSwigluQuant::plan_outputs() {
  const Format codes = is_int4() ? Format::int4 : Format::int8;
  // Judged with the shapes.
  find_code_matrix(name, "weight", weight, codes, x.shape.dims[1], {"x", x}, matrix_);
  Shape of_y = x.shape;
  of_y.dims[1] = matrix_.n / 2;
  if (!check_product_size(name, {"x", x}, {"weight", weight}, matrix_.n).ok()) of_y = {};
  outputs.assign(OutputSpec{"y", DType::int8, of_y},
                 OutputSpec{"scale", DType::float32, {1, {rows()}}},
                 OutputSpec{"offset", DType::float32, {}});
}

// Arguments that have no meaning here.
Status GroupedMatmulSwigluQuant::check_attributes() {
  if (bias.present && !is_int4())
    return fault(name, Fault::attribute, {Argument("bias")}, {"is given"},
                 {"expected ", Nothing(), ": ", Argument("weight"), " is ", DTypeOf(weight)});
  if (!offset.present) return {};
  return fault(name, Fault::attribute, {Argument("offset")}, {"is given"},
               {"expected ", Nothing()});
}

Status GroupedMatmulSwigluQuant::take_rule() {
  rule = reference_rule(Format::int8);
  return Op::take_rule();
}

Status GroupedMatmulSwigluQuant::check_shapes() {
  CodeMatrix matrix;
  NPU_QUANT_RETURN_IF_ERROR(
      find_code_matrix(name, "weight", weight, matrix_.codes, x.shape.dims[1], {"x", x}, matrix));
  if (matrix_.n % 2 != 0)
    return wrong_shape(name, "weight", weight,
                       "expected an even number of columns: the operator multiplies their halves");
  NPU_QUANT_RETURN_IF_ERROR(check_product_size(name, {"x", x}, {"weight", weight}, matrix_.n));
  NPU_QUANT_RETURN_IF_ERROR(check_group_count(name, "group_list", group_list));
  const Shape each{1, {experts()}}, of_columns{2, {experts(), matrix_.n}};
  if (group_list.shape != each)
    return wrong_shape(name, "group_list", group_list,
                       {"expected ", each, ": an end for each matrix of ", Argument("weight"),
                        " of shape ", weight.shape});
  NPU_QUANT_RETURN_IF_ERROR(check_expert_scales(name, weight_scale, weight, matrix_, is_int4()));
  NPU_QUANT_RETURN_IF_ERROR(check_along_rows(name, "x_scale", x_scale, {"x", x}, {1, {rows()}}));
  if (!bias.present || bias.shape == of_columns) return {};
  return wrong_shape(name, "bias", bias,
                     {"expected ", of_columns, ": an element for each column of each matrix of ",
                      Argument("weight"), " of shape ", weight.shape});
}

Status GroupedMatmulSwigluQuant::take_groups(RowGroups& groups) const {
  return groups.assign(name, "group_list", group_list, "x", rows(), RowGroups::Holds::ends,
                       RowGroups::Of::first_rows);
}

Status GroupedMatmulSwigluQuant::check_elements() const {
  RowGroups groups;
  return take_groups(groups);
}

Status GroupedMatmulSwigluQuant::run(const TensorView* out) const {
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(take_groups(groups));
  if (out[kY].present || out[kScale].present)
    NPU_QUANT_RETURN_IF_ERROR(run_expert_rows({.op = *this,
                                               .groups = groups,
                                               .x = x,
                                               .weight = weight,
                                               .x_codes = Format::int8,
                                               .matrix = matrix_,
                                               .weight_scale = weight_scale,
                                               .x_scale = x_scale,
                                               .y = out[kY],
                                               .scale = out[kScale],
                                               .bias = &bias}));
  if (out[kOffset].present) std::memset(out[kOffset].data, 0, sizeof(float));
  return {};
}

}  // namespace npu_quant
