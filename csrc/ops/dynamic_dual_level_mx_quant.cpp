#include "ops/dynamic_dual_level_mx_quant.h"

#include "core/dispatch.h"

namespace npu_quant {
namespace {

constexpr int64_t kLevel0Group = DualLevelMxKernel::kGroup;

}  // namespace

Inputs DynamicDualLevelMxQuant::inputs() {
  static constexpr DType kHalfFloats[] = {DType::float16, DType::bfloat16};
  static constexpr Takes of_input = one_of(kHalfFloats).ranks(1, kMaxRank - 1),
                         of_smooth_scale = like(0).ranks(1, 1);
  return Inputs::of(required("input", input, of_input),
                    optional("smooth_scale", smooth_scale, of_smooth_scale));
}

Attributes DynamicDualLevelMxQuant::attributes() {
  return Attributes::of(required("round_mode", round_mode));
}

void DynamicDualLevelMxQuant::plan_outputs() {
  Shape groups = input.shape;
  const int last = input.rank - 1;
  groups.dims[last] = ceil_div(groups.dims[last], kLevel0Group);
  outputs.assign(
      y_of("y"), OutputSpec{"level0_scale", DType::float32, groups},
      OutputSpec{"level1_scale", mxscale_array, mx_scales_of(input.shape, last, kMxCell)});
}

Status DynamicDualLevelMxQuant::check_attributes() {
  if (smooth_scale.present)
    return fault(name, Fault::attribute, {Argument("smooth_scale")}, {"is given"},
                 {"expected ", Nothing(), ": ", Argument("smooth_scale"), " is not available"});
  return check_codes();
}

Status DynamicDualLevelMxQuant::run(const TensorView* out) const {
  enum { kX, kCodes, kScales, kBytes, kTensors };
  const TensorView &y = out[kY], &scale = out[kLevel0Scale], &bytes_of_blocks = out[kLevel1Scale];
  constexpr int64_t kPart = 64 << 10;
  const Tiles<kTensors> tiles(
      input.shape, {input.strides, y.strides, scale.strides, bytes_of_blocks.strides},
      {.group_columns = kLevel0Group, .columns = kPart},
      {{{}, {.columns = 2}, {.columns = kLevel0Group}, {.columns = 2 * kMxCell}}});
  const int64_t lane = bytes_of_blocks.strides[input.rank];
  tiles.for_each_part({input.data, y.data, scale.data, bytes_of_blocks.data},
                      work_bytes(bytes(), {&input, &y}), [&](const auto& part) {
                        const Strided& to = part.at[kBytes];
                        DualLevelMxKernel::Args args{};
                        args.blocks = {.dtype = input.dtype,
                                       .format = codes(),
                                       .rows = part.rows,
                                       .n = part.n,
                                       .block = kMxCell,
                                       .x = part.at[kX],
                                       .y = part.at[kCodes],
                                       .scales = {to.data, to.row_stride, to.stride, lane},
                                       .rule = mx_rule(rule.greatest, false),
                                       .rounding = round_mode.value(),
                                       .stream = worth_streaming(bytes())};
                        args.scale = part.at[kScales];
                        args.greatest = rule.greatest;
                        run_on_active_target<DualLevelMxKernel>(args);
                      });
  return {};
}

}  // namespace npu_quant
