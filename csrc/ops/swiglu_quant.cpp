#include "ops/swiglu_quant.h"

namespace npu_quant {
Inputs SwigluQuant::inputs() {
  static constexpr Takes of_x = floats().ranks(2, kMaxRank),
                         of_parameters = one_of(kFloat32).made_of(DType::float32).ranks(1, 2),
                         of_groups = one_of(kInt32).made_of(DType::int32).ranks(1, 1);
  return Inputs::of(required("x", x, of_x), optional("smooth_scales", smooth_scales, of_parameters),
                    optional("offsets", offsets, of_parameters),
                    optional("group_index", group_index, of_groups));
}

Attributes SwigluQuant::attributes() {
  return Attributes::of(
      required("activate_left", activate_left), required("quant_mode", quant_mode),
      required("group_list_type", group_list_type), optional("dst_type", dst_type));
}

void SwigluQuant::plan_outputs() {
  const DType array = dst_type.array != DType::other ? dst_type.array : DType::int8;
  outputs.assign(codes_of("y", codes(), half_of(x.shape), array),
                 OutputSpec{"scale", DType::float32, rows_of(x.shape)});
}

Status SwigluQuant::check_attributes() {
  constexpr Format kAvailable[] = {Format::int8, Format::int4};
  if (quant_mode != 0 && quant_mode != 1)
    return refuse("quant_mode", quant_mode,
                  {"expected 0 (by ", Argument("smooth_scales"), " and ", Argument("offsets"),
                   ") or 1 (each row by its amax)"});
  if (group_list_type != 0 && group_list_type != 1)
    return refuse("group_list_type", group_list_type,
                  "expected 0 (the end of each group) or 1 (the number of its rows)");
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kAvailable));
  const auto misplaced = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, came, allowed);
  };
  if (is_dynamic() && offsets.present)
    return misplaced("offsets", "is given",
                     {"expected ", Nothing(), " with ", Argument("quant_mode"), " 1"});
  if (!is_dynamic() && smooth_scales.present != offsets.present)
    return misplaced(offsets.present ? "smooth_scales" : "offsets", {"is ", Nothing()},
                     {"expected both or none of ", Argument("smooth_scales"), " and ",
                      Argument("offsets"), " with ", Argument("quant_mode"), " 0"});
  return {};
}

// The scale of a row is what its values are multiplied by.
Status SwigluQuant::take_rule() {
  rule = reference_rule(codes());
  rule.scale = ScaleForm::multiplier;
  rule.code = CodeForm::product;
  return Op::take_rule();
}

Status SwigluQuant::check_shapes() {
  constexpr int64_t kMostColumns = 8192;
  const int64_t columns = x.shape.dims[x.rank - 1], together = is_packed(codes()) ? 4 : 2;
  if (columns % together != 0 || columns > kMostColumns)
    return wrong_shape(name, "x", x,
                       {"expected a last axis of a multiple of ", together, ", at most ",
                        kMostColumns, ", for ", codes()});
  if (group_index.present)
    NPU_QUANT_RETURN_IF_ERROR(check_group_count(name, "group_index", group_index));
  const GroupShapes shapes{name, "elements of a row of y",
                           group_index.present ? group_index.shape.dims[0] : 1, columns / 2, true};
  NPU_QUANT_RETURN_IF_ERROR(shapes.check("smooth_scales", smooth_scales));
  if (!offsets.present) return {};
  return check_same_shape(name, "offsets", offsets, "smooth_scales", smooth_scales);
}

Status SwigluQuant::take_groups(RowGroups& groups) const {
  if (!group_index.present) return {};
  return groups.assign(name, "group_index", group_index, "x", rows_of(x.shape).size(),
                       group_list_type == 0 ? RowGroups::Holds::ends : RowGroups::Holds::counts,
                       RowGroups::Of::first_rows);
}

Status SwigluQuant::check_elements() const {
  RowGroups groups;
  return take_groups(groups);
}

Status SwigluQuant::run(const TensorView* out) const {
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(take_groups(groups));
  GluKernel::Args how{};
  how.alpha = 1;
  how.becomes =
      is_dynamic() ? GluKernel::Becomes::codes_by_amax : GluKernel::Becomes::codes_by_scales;
  how.codes = codes();
  GluCall call{*this, x, activate_left, how, out[kY], out[kScale]};
  call.groups = group_index.present ? &groups : nullptr;
  (is_dynamic() ? call.smooth : call.scale) = &smooth_scales;
  call.zero_point = &offsets;
  return run_glu(call);
}

}  // namespace npu_quant
