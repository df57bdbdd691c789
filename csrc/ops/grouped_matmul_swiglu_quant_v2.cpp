// The second version.
#include "ops/grouped_matmul_swiglu_quant.h"
#include "ops/split/expert_rows.h"
#include "ops/split/mx_work.h"

namespace npu_quant {

GroupedMatmulSwigluQuantV2::Form GroupedMatmulSwigluQuantV2::form() const {
  if (x.dtype == DType::int32 || x.dtype == DType::int4) return Form::int4;
  if (x.dtype == DType::float8_e4m3fn) return Form::mx;
  return weight.dtype == DType::int8 ? Form::int8 : Form::int8_by_int4;
}

Format GroupedMatmulSwigluQuantV2::codes_of(const TensorView& view) const {
  return view.dtype == DType::int32 ? Format::int4 : format_of(view.dtype);
}

Inputs GroupedMatmulSwigluQuantV2::inputs() {
  static constexpr char kOfExperts[] = "It holds a matrix for each group.",
                        kOfColumns[] = "It holds a row for each group.",
                        kOfRows[] = "It holds one element per row.";
  static constexpr DType kX[] = {DType::int8, DType::int32, DType::float8_e4m3fn},
                         kInt8[] = {DType::int8, DType::int32}, kEnds[] = {DType::int64},
                         kScales[] = {DType::float32, DType::int64},
                         kBytes[] = {DType::uint8, DType::float8_e8m0fnu};
  static constexpr Takes of_x = one_of(kX).ranks(2, 2),
                         of_int8 = one_of(kInt8).ranks(3, 3, kOfExperts),
                         of_like = like(0).ranks(3, 3, kOfExperts),
                         of_packed_x = Takes{}.ranks(2, 2),  // an aclTensor's of int4
      of_packed = Takes{}.ranks(3, 3, kOfExperts),
                         of_columns = one_of(kFloat32).made_of(DType::float32),
                         of_scale = of_columns.ranks(2, 2, kOfColumns),
                         of_smooth = of_columns.ranks(1, 2, kOfColumns),
                         of_rows = of_columns.ranks(1, 1, kOfRows);
  static constexpr Takes of_scales = one_of(kScales).made_of(DType::float32),
                         of_groups = of_scales.ranks(2, 3, kOfColumns),
                         of_carried = of_scales.ranks(2, 2, kOfColumns),
                         of_powers = one_of(kBytes).ranks(4, 4),
                         of_row_powers = one_of(kBytes).ranks(3, 3),
                         of_list = one_of(kEnds).made_of(DType::int64),
                         of_ends = of_list.ranks(1, 1, "It says which rows a group has.");
  const Takes& scales = is_mx()                        ? of_powers
                        : form() == Form::int8_by_int4 ? of_groups
                        : form() == Form::int4         ? of_carried
                                                       : of_scale;
  const bool takes_packed = x.dtype == DType::int8 && weight.dtype == DType::int4;
  const Takes& weights = takes_packed ? of_packed : x.dtype == DType::int8 ? of_int8 : of_like;
  return Inputs::of(
      required("x", x, x.dtype == DType::int4 ? of_packed_x : of_x),
      required("weight", weight, weights), required("weight_scale", weight_scale, scales),
      required("x_scale", x_scale, is_mx() ? of_row_powers : of_rows),
      required("group_list", group_list, of_ends),
      optional("smooth_scale", smooth_scale, of_smooth),
      optional("weight_assist_matrix", weight_assist_matrix, of_scale), optional("bias", bias));
}

Attributes GroupedMatmulSwigluQuantV2::attributes() {
  return Attributes::of(
      optional("dequant_mode", dequant_mode), optional("dequant_dtype", dequant_dtype),
      optional("quant_mode", quant_mode), optional("quant_dtype", quant_dtype),
      optional("group_list_type", group_list_type), optional("x_dtype", x_dtype),
      optional("weight_dtype", weight_dtype), optional("weight_scale_dtype", weight_scale_dtype),
      optional("x_scale_dtype", x_scale_dtype));
}

// A weight of int4 for int8 needs what makes up for the 8 that x is less.
Status GroupedMatmulSwigluQuantV2::check_dtypes(const npu_quant::Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_dtypes(given));
  if (form() != Form::int8_by_int4 || weight_assist_matrix.present) return {};
  return fault(name, Fault::dtype, {Argument("weight_assist_matrix")}, {"is ", Nothing()},
               {"expected ", DType::float32, ": ", Argument("x"), " is ", DTypeOf(x), " and ",
                Argument("weight"), " is ", DTypeOf(weight)});
}

void GroupedMatmulSwigluQuantV2::plan_outputs() {
  // Judged with the shapes.
  find_code_matrix(name, "weight", weight, codes_of(weight), k(), {"x", x}, matrix_);
  Shape of_y{2, {rows(), matrix_.n / 2}}, of_scale{1, {rows()}};
  if (!check_product_size(name, {"x", x}, {"weight", weight}, matrix_.n).ok())
    of_y = of_scale = {2, {}};
  if (is_mx()) of_scale = mx_scales_of(of_y, 1, kProductBlock);
  outputs.assign(OutputSpec{"y", is_mx() ? DType::float8_e4m3fn : DType::int8, of_y},
                 OutputSpec{"scale", is_mx() ? scale_array : DType::float32, of_scale});
}

Status GroupedMatmulSwigluQuantV2::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_places());
  NPU_QUANT_RETURN_IF_ERROR(check_modes());
  return check_named();
}

// Arguments that have no meaning here.
Status GroupedMatmulSwigluQuantV2::check_places() const {
  const auto misplaced = [this](const char* argument, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, {"is given"}, allowed);
  };
  if (smooth_scale.present && form() != Form::int4)
    return misplaced("smooth_scale", {"expected ", Nothing(), ": ", Argument("x"), " is ",
                                      DTypeOf(x), ", not ", DType::int32});
  if (weight_assist_matrix.present && form() != Form::int8_by_int4)
    return misplaced("weight_assist_matrix",
                     {"expected ", Nothing(), ": ", Argument("x"), " is ", DTypeOf(x), " and ",
                      Argument("weight"), " is ", DTypeOf(weight)});
  if (bias.present) return misplaced("bias", {"expected ", Nothing()});
  return {};
}

Status GroupedMatmulSwigluQuantV2::check_modes() const {
  const int64_t quant = is_mx() ? 2 : 0;
  if (dequant_mode != quant && !(has_groups() && dequant_mode == 1))
    return refuse(
        "dequant_mode", dequant_mode,
        {"expected ", quant, has_groups() ? " or 1" : "", ": ", Argument("x"), " is ", DTypeOf(x)});
  const bool is_unnamed = dequant_dtype.is_default || dequant_dtype.number == 0;
  if (!is_unnamed && dequant_dtype.format != Format::float32)
    return refuse("dequant_dtype", dequant_dtype.came(), {"available: ", Format::float32});
  if (quant_mode != quant)
    return refuse("quant_mode", quant_mode,
                  {"expected ", quant, ": ", Argument("x"), " is ", DTypeOf(x)});
  const Format codes = is_mx() ? Format::float8_e4m3fn : Format::int8;
  const bool is_int8 = quant_dtype.is_default || quant_dtype.number == 0;
  if (quant_dtype.format != codes && !(is_int8 && !is_mx()))
    return refuse("quant_dtype", quant_dtype.came(), {"available: ", codes});
  if (group_list_type == 0 || group_list_type == 1) return {};
  return refuse("group_list_type", group_list_type, "expected 0 (ends) or 1 (counts)");
}

// Nothing, what codes an array holds, or its own dtype.
Status GroupedMatmulSwigluQuantV2::check_named() const {
  const struct {
    const char* attribute;
    const DTypeRequest& asked;
    const char* argument;
    const TensorView& view;
  } all[] = {{"x_dtype", x_dtype, "x", x},
             {"weight_dtype", weight_dtype, "weight", weight},
             {"weight_scale_dtype", weight_scale_dtype, "weight_scale", weight_scale},
             {"x_scale_dtype", x_scale_dtype, "x_scale", x_scale}};
  for (const auto& [attribute, asked, argument, view] : all) {
    const Format codes = view.dtype == DType::uint8 ? Format::float8_e8m0fnu : codes_of(view);
    if (asked.is_default || asked.format == codes || asked.format == format_of(view.dtype))
      continue;
    return refuse(attribute, asked.came(), none_or_held({argument, view}, codes));
  }
  return {};
}

Status GroupedMatmulSwigluQuantV2::take_rule() {
  rule = reference_rule(is_mx() ? Format::float8_e4m3fn : Format::int8);
  return Op::take_rule();
}

Status GroupedMatmulSwigluQuantV2::check_shapes() {
  CodeMatrix matrix;
  NPU_QUANT_RETURN_IF_ERROR(
      find_code_matrix(name, "weight", weight, matrix_.codes, k(), {"x", x}, matrix));
  if (matrix_.n % 2 != 0)
    return wrong_shape(name, "weight", weight,
                       "expected an even number of columns: the operator multiplies their halves");
  NPU_QUANT_RETURN_IF_ERROR(check_product_size(name, {"x", x}, {"weight", weight}, matrix_.n));
  NPU_QUANT_RETURN_IF_ERROR(check_scales());
  NPU_QUANT_RETURN_IF_ERROR(check_group_count(name, "group_list", group_list));
  const Shape each{1, {experts()}}, of_columns{2, {experts(), matrix_.n}};
  if (group_list.shape != each)
    return wrong_shape(name, "group_list", group_list,
                       {"expected ", each, ": an entry for each matrix of ", Argument("weight"),
                        " of shape ", weight.shape});
  const Shape of_unit{2, {experts(), matrix_.n / 2}};
  if (smooth_scale.present && smooth_scale.shape != each && smooth_scale.shape != of_unit)
    return wrong_shape(name, "smooth_scale", smooth_scale,
                       Text{"expected ", of_unit, " or ", each, ": for each group of "} +
                           with_shape({"weight", weight}) +
                           ", an element for each column of y or one for all");
  if (!weight_assist_matrix.present || weight_assist_matrix.shape == of_columns) return {};
  return wrong_shape(name, "weight_assist_matrix", weight_assist_matrix,
                     {"expected ", of_columns, ": an element for each column of each matrix of ",
                      Argument("weight"), " of shape ", weight.shape});
}

Status GroupedMatmulSwigluQuantV2::check_scales() const {
  if (is_mx()) {
    NPU_QUANT_RETURN_IF_ERROR(check_block_scales(name, "weight_scale", weight_scale,
                                                 {3, {experts(), k(), matrix_.n}}, 1,
                                                 {"weight", weight}));
    return check_block_scales(name, "x_scale", x_scale, {2, {rows(), k()}}, 1, {"x", x});
  }
  NPU_QUANT_RETURN_IF_ERROR(
      check_expert_scales(name, weight_scale, weight, matrix_, form() == Form::int8_by_int4));
  return check_along_rows(name, "x_scale", x_scale, {"x", x}, {1, {rows()}});
}

Status GroupedMatmulSwigluQuantV2::take_groups(RowGroups& groups) const {
  return groups.assign(name, "group_list", group_list, "x", rows(),
                       group_list_type == 0 ? RowGroups::Holds::ends : RowGroups::Holds::counts,
                       RowGroups::Of::first_rows);
}

Status GroupedMatmulSwigluQuantV2::check_elements() const {
  RowGroups groups;
  return take_groups(groups);
}

Status GroupedMatmulSwigluQuantV2::run(const TensorView* out) const {
  if (!out[kY].present && !out[kScale].present) return {};
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(take_groups(groups));
  return run_expert_rows({.op = *this,
                          .groups = groups,
                          .x = x,
                          .weight = weight,
                          .x_codes = codes_of(x),
                          .matrix = matrix_,
                          .weight_scale = weight_scale,
                          .x_scale = x_scale,
                          .y = out[kY],
                          .scale = out[kScale],
                          .bias = &weight_assist_matrix,
                          .smooth = &smooth_scale,
                          .in_blocks = is_mx()});
}

}  // namespace npu_quant
