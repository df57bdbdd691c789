#include "ops/dynamic_quant.h"

#include "core/cache.h"
#include "ops/split/dynamic_groups.h"
#include "ops/split/row_groups.h"

namespace npu_quant {

Inputs DynamicQuant::inputs() {
  static constexpr Takes of_input = floats().ranks(2, kMaxRank),
                         of_smooth =
                             like(0).ranks(1, 1, "It holds one factor per element of a token."),
                         of_groups =
                             like(0).ranks(2, 2, "With group_index it holds a row for each group.");
  return Inputs::of(
      required("input", input, of_input),
      optional("smooth_scales", smooth_scales, group_index.present ? of_groups : of_smooth),
      optional("group_index", group_index, kGroups));
}

Attributes DynamicQuant::attributes() {
  return Attributes::of(optional("dst_type", dst_type), required("quant_mode", quant_mode),
                        required("dst_type_max", dst_type_max));
}

void DynamicQuant::plan_outputs() {
  Shape groups{1, {1}};
  if (quant_mode.value() != Mode::pertensor) {
    groups = input.shape;
    --groups.rank;
    if (quant_mode.value() == Mode::perchannel)
      groups.dims[groups.rank - 1] = input.shape.dims[groups.rank];
  }
  const OutputSpec y = codes_of("y", codes(), input.shape, dst_type.array);
  const OutputSpec scale{"scale", DType::float32, groups};
  if (symmetric)
    outputs.assign(y, scale);
  else
    outputs.assign(y, scale, OutputSpec{"offset", DType::float32, groups});
}

Status DynamicQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kCodeFormats));
  NPU_QUANT_RETURN_IF_ERROR(quant_mode.check(name, "quant_mode", "expected "));
  return check_dst_type_max(name, dst_type_max, codes());
}

Status DynamicQuant::take_rule() {
  NPU_QUANT_RETURN_IF_ERROR(check_device());
  rule = reference_rule(codes(), dst_type_max);
  if (!symmetric) return set_asymmetric_forms(numerics, rule), Status{};
  const int64_t tokens = outputs[kScale].shape.size();
  const TokenCall call{.codes = codes(),
                       .rows = tokens,
                       .n = input.shape.dims[input.rank - 1],
                       .smooths = smooth_scales.present,
                       .has_groups = group_index.present};
  set_dynamic_forms(numerics, call, rule);
  return {};
}

// What the devices lack.
Status DynamicQuant::check_device() const {
  constexpr DType kDTypes[] = {DType::float16, DType::bfloat16};
  constexpr Format kFormats910b[] = {Format::int8, Format::int4};
  const Profile profile = numerics.profile;
  if (profile == Profile::reference) return {};
  NPU_QUANT_RETURN_IF_ERROR(check_dtype_of_device(name, profile, "input", input, kDTypes));
  if (profile != Profile::ascend910b) return {};
  NPU_QUANT_RETURN_IF_ERROR(check_format_of_device(name, profile, codes(), kFormats910b));
  if (quant_mode.value() != Mode::pertoken)
    return refused_by_device(name, profile, Fault::attribute, "quant_mode",
                             {quoted(quant_mode.word())}, "'pertoken'");
  if (dst_type_max == 0) return {};
  return refused_by_device(name, profile, Fault::attribute, "dst_type_max",
                           {to_string(dst_type_max)}, "0.0");
}

Status DynamicQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "input", input, codes(), outputs[kY].dtype));
  NPU_QUANT_RETURN_IF_ERROR(check_groups());
  if (!smooth_scales.present) return {};
  const bool of_channels = quant_mode.value() == Mode::perchannel;
  Shape expected = shape_along(input.shape, input.rank - (of_channels ? 2 : 1), 1);
  if (group_index.present) expected = Shape{2, {group_index.shape.dims[0], expected.dims[0]}};
  if (smooth_scales.shape == expected) return {};
  Text allowed{"expected ", expected};
  if (group_index.present)
    allowed += {": a row for each entry of ", Argument("group_index")};
  else
    allowed +=
        {": the length of ", of_channels ? "axis -2 of " : "the last axis of ", Argument("input")};
  return wrong_shape(name, "smooth_scales", smooth_scales, allowed);
}

// What group_index stands beside, and how many groups it has.
Status DynamicQuant::check_groups() const {
  if (!group_index.present) return {};
  if (!smooth_scales.present)
    return refuse("smooth_scales", Nothing(), {"expected an array with ", Argument("group_index")});
  if (quant_mode.value() == Mode::perchannel)
    return refuse("group_index", "given",
                  {"expected ", Nothing(), " with ", Argument("quant_mode"), " 'perchannel'"});
  const int64_t experts = group_index.shape.dims[0];
  if (experts >= 1 && experts <= SmoothRows::kMostExperts) return {};
  return wrong_shape(name, "group_index", group_index,
                     {"expected 1 to ", SmoothRows::kMostExperts, " entries"});
}

Status DynamicQuant::check_elements() const {
  if (!group_index.present) return {};
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < input.rank; ++axis) rows *= input.shape.dims[axis];
  return RowGroups().assign(name, "group_index", group_index, "input", rows);
}

Status DynamicQuant::run(const TensorView* out) const {
  const TensorView &y = out[kY], &scale = out[kScale], &offset = symmetric ? kAbsent : out[kOffset];
  if (!y.present && !scale.present && !offset.present) return {};
  const DynamicTensors tensors{input, y, scale, offset, is_packed(codes())};
  SmoothRows smooth;
  NPU_QUANT_RETURN_IF_ERROR(smooth.assign(name, smooth_scales, group_index));
  const DynamicGroups groups{.x_dtype = input.dtype,
                             .format = codes(),
                             .rule = rule,
                             .symmetric = symmetric,
                             .stream = worth_streaming(bytes()),
                             .work = work_bytes(bytes(), {&input, &y})};
  switch (quant_mode.value()) {
    case Mode::pertoken: groups.quantize_rows(tensors, smooth); break;
    case Mode::perchannel: groups.quantize_columns(tensors, smooth); break;
    case Mode::pertensor: groups.quantize_all(tensors, smooth); break;
  }
  return {};
}

}  // namespace npu_quant
