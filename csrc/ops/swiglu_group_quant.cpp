#include "ops/swiglu_group_quant.h"

#include <cmath>

#include "ops/split/mx_quant.h"
#include "ops/split/parameter.h"

namespace npu_quant {
namespace {

constexpr Format kFloat8Codes[] = {Format::float8_e5m2, Format::float8_e4m3fn};
constexpr int64_t kFloatBlock = 128;
constexpr float kLeastAmax = 1e-4f;

}  // namespace

Inputs SwigluGroupQuant::inputs() {
  static constexpr DType kHalfFloats[] = {DType::float16, DType::bfloat16};
  static constexpr DType kCounts[] = {DType::int64};
  static constexpr Takes of_x = one_of(kHalfFloats).ranks(2, kMaxRank),
                         of_floats = one_of(kFloat32).made_of(DType::float32),
                         of_rows = of_floats.ranks(0, kMaxRank), of_scale = of_floats.ranks(1, 1),
                         of_groups = one_of(kCounts)
                                         .made_of(DType::int64)
                                         .ranks(1, 1, "It holds the number of rows of each group.");
  return Inputs::of(required("x", x, of_x), optional("weight", weight, of_rows),
                    optional("group_index", group_index, of_groups),
                    optional("scale", scale, of_scale));
}

Attributes SwigluGroupQuant::attributes() {
  return Attributes::of(optional("dst_type", dst_type), required("quant_mode", quant_mode),
                        required("block_size", block_size), required("round_scale", round_scale),
                        required("clamp_limit", clamp_limit),
                        required("dst_type_max", dst_type_max),
                        required("output_origin", output_origin));
}

int64_t SwigluGroupQuant::block() const { return is_mx() ? kMxCell : kFloatBlock; }

Format SwigluGroupQuant::codes() const {
  return is_among(dst_type.format, kFloat8Codes) ? dst_type.format : Format::float8_e5m2;
}

// A pair of bytes is an axis more.
Status SwigluGroupQuant::check_ranks(const npu_quant::Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_ranks(given));
  return is_mx() ? check_rank(name, "x", x, 2, kMaxRank - 1) : Status{};
}

void SwigluGroupQuant::plan_outputs() {
  const Shape half = half_of(x.shape), none{1, {0}};
  Shape blocks = half;
  blocks.dims[half.rank - 1] = ceil_div(half.dims[half.rank - 1], kFloatBlock);
  outputs.assign(codes_of("y", codes(), half, dst_type.array),
                 is_mx()
                     ? OutputSpec{"scale", scale_array, mx_scales_of(half, half.rank - 1, kMxCell)}
                     : OutputSpec{"scale", DType::float32, blocks},
                 OutputSpec{"origin", x.dtype, output_origin ? half : none});
}

Status SwigluGroupQuant::check_attributes() {
  if (scale.present)
    return fault(name, Fault::attribute, {Argument("scale")}, {"is given"},
                 {"expected ", Nothing(), ": it belongs to ", Argument("quant_mode"),
                  " 2, which is not available"});
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kFloat8Codes));
  if (quant_mode != 0 && quant_mode != 1)
    return refuse("quant_mode", quant_mode,
                  "available: 0 (blocks of 128) or 1 (blocks of 32 with a power of 2)");
  if (block_size != 0 && block_size != block())
    return refuse("block_size", block_size,
                  {"expected 0 or ", block(), " with ", Argument("quant_mode"), " ", quant_mode});
  if (is_mx() && !round_scale)
    return refuse(
        "round_scale", "False",
        {"expected True with ", Argument("quant_mode"), " 1: its scales are powers of 2"});
  if (std::isnan(clamp_limit))
    return refuse("clamp_limit", to_string(clamp_limit),
                  "expected a number above 0, or -1.0 for no limit");
  if (std::isnan(dst_type_max))
    return refuse(
        "dst_type_max", to_string(dst_type_max),
        {"expected a number, which has no effect with ", Argument("quant_mode"), " ", quant_mode});
  return {};
}

// Of a block of 128 values are multiplied by MAX / amax, beside the scale.
Status SwigluGroupQuant::take_rule() {
  rule = reference_rule(codes());
  rule.code = CodeForm::product;
  return Op::take_rule();
}

Status SwigluGroupQuant::check_shapes() {
  if (x.shape.dims[x.rank - 1] % 2 != 0)
    return wrong_shape(name, "x", x, "expected a last axis of a multiple of 2");
  const int64_t rows = rows_of(x.shape).size();
  if (weight.present && weight.shape.size() != rows)
    return wrong_shape(name, "weight", weight,
                       {"expected ", rows, " elements, one for each row of ", Argument("x")});
  return group_index.present ? check_group_count(name, "group_index", group_index) : Status{};
}

Status SwigluGroupQuant::take_groups(RowGroups& groups) const {
  if (!group_index.present) return {};
  return groups.assign(name, "group_index", group_index, "x", rows_of(x.shape).size(),
                       RowGroups::Holds::counts, RowGroups::Of::rows_that_are_there);
}

Status SwigluGroupQuant::check_elements() const {
  RowGroups groups;
  return take_groups(groups);
}

GluKernel::Args SwigluGroupQuant::how() const {
  GluKernel::Args how{};
  how.limit = to_float32(clamp_limit);
  how.clamps = how.limit > 0;
  how.alpha = 1;
  how.factor_bias = -0.0f;
  how.becomes = is_mx() ? GluKernel::Becomes::codes_by_mx : GluKernel::Becomes::codes_by_blocks;
  how.codes = codes();
  how.block = block();
  how.least_amax = kLeastAmax;
  how.rounds_scales = round_scale;
  how.mx_rule = mx_rule(rule.greatest, true, kLeastAmax);
  return how;
}

Status SwigluGroupQuant::run(const TensorView* out) const {
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(take_groups(groups));
  GluCall call{*this, x, true, how(), out[kY], out[kScale]};
  call.weight = &weight;
  if (output_origin) call.origin = &out[kOrigin];
  call.groups = group_index.present ? &groups : nullptr;
  call.behind = GluKernel::Becomes::zeros;
  return run_glu(call);
}

}  // namespace npu_quant
