#include "ops/dequant_swiglu_quant.h"

#include <cmath>

#include "ops/split/parameter.h"

namespace npu_quant {
Inputs DequantSwigluQuant::inputs() {
  static constexpr DType kX[] = {DType::int32, DType::float16, DType::bfloat16};
  static constexpr DType kBiases[] = {DType::int32, DType::float32, DType::float16,
                                      DType::bfloat16};
  static constexpr DType kCounts[] = {DType::int64};
  static constexpr Takes of_x = one_of(kX).ranks(2, kMaxRank),
                         of_floats = one_of(kFloat32).made_of(DType::float32),
                         of_parameters = of_floats.ranks(1, 2),
                         of_rows = of_floats.ranks(0, kMaxRank),
                         of_bias = one_of(kBiases).ranks(1, 2),
                         of_groups = one_of(kCounts)
                                         .made_of(DType::int64)
                                         .ranks(1, 1, "It holds the number of rows of each group.");
  return Inputs::of(required("x", x, of_x), optional("weight_scale", weight_scale, of_parameters),
                    optional("activation_scale", activation_scale, of_rows),
                    optional("bias", bias, of_bias),
                    optional("quant_scale", quant_scale, of_parameters),
                    optional("quant_offset", quant_offset, of_parameters),
                    optional("group_index", group_index, of_groups));
}

Attributes DequantSwigluQuant::attributes() {
  return Attributes::of(required("activate_left", activate_left),
                        required("quant_mode", quant_mode), optional("dst_type", dst_type),
                        optional("round_mode", round_mode), optional("activate_dim", activate_dim),
                        required("swiglu_mode", swiglu_mode), required("clamp_limit", clamp_limit),
                        required("glu_alpha", glu_alpha), required("glu_bias", glu_bias));
}

// Integers need a weight_scale.
Status DequantSwigluQuant::check_dtypes(const npu_quant::Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_dtypes(given));
  if (x.dtype != DType::int32 || weight_scale.present) return {};
  return fault(name, Fault::dtype, {Argument("weight_scale")}, {"is ", Nothing()},
               {"expected ", DType::float32, ": ", Argument("x"), " is ", DType::int32});
}

void DequantSwigluQuant::plan_outputs() {
  outputs.assign(codes_of("y", codes(), half_of(x.shape), dst_type.array),
                 OutputSpec{"scale", DType::float32, rows_of(x.shape)});
}

Status DequantSwigluQuant::check_attributes() {
  constexpr Format kAvailable[] = {Format::int8,          Format::hifloat8,    Format::float8_e5m2,
                                   Format::float8_e4m3fn, Format::float4_e2m1, Format::float4_e1m2};
  if (quant_mode != 0 && quant_mode != 1)
    return refuse("quant_mode", quant_mode,
                  {"expected 0 (by ", Argument("quant_scale"), ") or 1 (each row by its amax)"});
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kAvailable));
  NPU_QUANT_RETURN_IF_ERROR(check_round_mode());
  if (activate_dim != -1 && activate_dim != x.rank - 1)
    return refuse("activate_dim", activate_dim,
                  {"available: -1 or ", x.rank - 1, " (the last axis)"});
  NPU_QUANT_RETURN_IF_ERROR(check_glu());
  return check_places();
}

Status DequantSwigluQuant::check_round_mode() const {
  if (round_mode < 0 || round_mode > 4)
    return refuse("round_mode", round_mode,
                  "expected 0 (rint), 1 (round), 2 (floor), 3 (ceil) or 4 (trunc)");
  const int64_t only = codes() == Format::hifloat8 ? 1 : 0;
  if (is_packed(codes()) || round_mode == only) return {};
  return refuse("round_mode", round_mode, {"available for ", codes(), ": ", only});
}

Status DequantSwigluQuant::check_glu() const {
  if (swiglu_mode < 0 || swiglu_mode > 2)
    return refuse("swiglu_mode", swiglu_mode,
                  "expected 0 (halves), 1 (even and odd elements, clamped) or 2 (halves, clamped)");
  const float limit = to_float32(clamp_limit);
  if (!(limit > 0) || std::isinf(limit))
    return refuse("clamp_limit", to_string(clamp_limit),
                  "expected a number above 0 that is finite in float32");
  if (!std::isfinite(to_float32(glu_alpha)))
    return refuse("glu_alpha", to_string(glu_alpha), "expected a number that is finite in float32");
  if (!std::isfinite(to_float32(glu_bias)))
    return refuse("glu_bias", to_string(glu_bias), "expected a number that is finite in float32");
  return {};
}

// Arguments that have no meaning here.
Status DequantSwigluQuant::check_places() const {
  const auto misplaced = [this](const char* argument, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, {"is given"}, allowed);
  };
  if (x.dtype != DType::int32)
    for (const auto& [argument, view] : {std::pair{"weight_scale", &weight_scale},
                                         {"activation_scale", &activation_scale},
                                         {"bias", &bias}})
      if (view->present)
        return misplaced(argument, {"expected ", Nothing(), ": ", Argument("x"), " is ", x.dtype,
                                    ", not ", DType::int32});
  if (is_dynamic() && quant_offset.present)
    return misplaced("quant_offset",
                     {"expected ", Nothing(), " with ", Argument("quant_mode"), " 1"});
  return {};
}

Status DequantSwigluQuant::take_rule() {
  rule = reference_rule(codes());
  return Op::take_rule();
}

Status DequantSwigluQuant::check_shapes() {
  const int64_t columns = x.shape.dims[x.rank - 1], together = is_packed(codes()) ? 4 : 2;
  if (columns % together != 0)
    return wrong_shape(name, "x", x,
                       {"expected a last axis of a multiple of ", together, " for ", codes()});
  if (group_index.present)
    NPU_QUANT_RETURN_IF_ERROR(check_group_count(name, "group_index", group_index));
  const int64_t groups = group_index.present ? group_index.shape.dims[0] : 1;
  const GroupShapes of_x{name, "elements of a row of x", groups, columns, false};
  NPU_QUANT_RETURN_IF_ERROR(of_x.check("weight_scale", weight_scale));
  const int64_t rows = rows_of(x.shape).size();
  if (activation_scale.present && activation_scale.shape.size() != rows)
    return wrong_shape(name, "activation_scale", activation_scale,
                       {"expected ", rows, " elements, one for each row of ", Argument("x")});
  NPU_QUANT_RETURN_IF_ERROR(of_x.check("bias", bias));
  const GroupShapes of_y{name, "elements of a row of y", groups, columns / 2, true};
  NPU_QUANT_RETURN_IF_ERROR(of_y.check("quant_scale", quant_scale));
  return of_y.check("quant_offset", quant_offset);
}

Status DequantSwigluQuant::take_groups(RowGroups& groups) const {
  if (!group_index.present) return {};
  return groups.assign(name, "group_index", group_index, "x", rows_of(x.shape).size(),
                       RowGroups::Holds::counts, RowGroups::Of::first_rows);
}

Status DequantSwigluQuant::check_elements() const {
  RowGroups groups;
  return take_groups(groups);
}

Status DequantSwigluQuant::run(const TensorView* out) const {
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(take_groups(groups));
  GluKernel::Args how{};
  how.clamps = swiglu_mode != 0;
  how.limit = to_float32(clamp_limit);
  how.alpha = how.clamps ? to_float32(glu_alpha) : 1;
  how.factor_bias = to_float32(glu_bias);
  how.becomes =
      is_dynamic() ? GluKernel::Becomes::codes_by_amax : GluKernel::Becomes::codes_by_scales;
  how.codes = codes();
  how.rounding = static_cast<Rounding>(round_mode);
  how.divide = true;
  GluCall call{*this, x, activate_left, how, out[kY], out[kScale]};
  call.interleaved = swiglu_mode == 1;
  // Even elements come first in any case.
  call.gate_first = activate_left || call.interleaved;
  call.weight_scale = &weight_scale;
  call.bias = &bias;
  call.activation_scale = &activation_scale;
  (is_dynamic() ? call.smooth : call.scale) = &quant_scale;
  call.zero_point = &quant_offset;
  call.groups = group_index.present ? &groups : nullptr;
  call.behind = GluKernel::Becomes::zeros;
  return run_glu(call);
}

}  // namespace npu_quant
