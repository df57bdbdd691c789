#include "ops/split/mx_quant.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/dispatch.h"
#include "ops/split/parameter.h"

namespace npu_quant {
namespace {

// Of no rows.
void clear(const MxScales& to, int64_t n) {
  if (to.data == nullptr) return;
  for (int64_t i = 0; i < n; ++i)
    for (int lane = 0; lane < 2; ++lane) to.data[i * to.row_stride + lane * to.lane_stride] = 0;
}

}  // namespace

MxRule mx_rule(float greatest, bool rounds_up, float least_amax) {
  constexpr int32_t kFraction = (1 << 23) - 1, kBias = 127;
  const auto bits = std::bit_cast<int32_t>(greatest);
  return {.least = std::bit_cast<int32_t>(least_amax),
          .added = rounds_up ? kFraction - (bits & kFraction) : 0,
          .emax = (bits >> 23) - kBias};
}

Format MxQuant::codes() const {
  return is_among(dst_type.format, kMxFormats) ? dst_type.format : by_default_;
}

Status MxQuant::check_codes() const {
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, "round_mode", "available: "));
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kMxFormats));
  if (is_packed(codes()) || round_mode.value() == Rounding::to_even) return {};
  return refuse("round_mode", quoted(round_mode.word()), {"available for ", codes(), ": 'rint'"});
}

int64_t MxQuant::other_scale_alg() const {
  if (codes() == Format::float4_e1m2) return 0;
  return is_packed(codes()) ? 2 : 1;
}

// And what goes with it.
Status MxQuant::check_scale_alg() const {
  const int64_t other = other_scale_alg();
  if (scale_alg != 0 && scale_alg != other)
    return refuse("scale_alg", scale_alg,
                  other != 0 ? Text{"available for ", codes(), ": 0, ", other}
                             : Text{"available for ", codes(), ": 0"});
  if (scale_alg == 2 && block_size != kMxCell)
    return refuse("block_size", block_size,
                  {"available with ", Argument("scale_alg"), " 2: ", kMxCell});
  return check_greatest();
}

Status MxQuant::check_greatest() const {
  const double top = find_row(codes())->greatest;
  const bool is_in_range = dst_type_max >= top && dst_type_max <= 2 * top;
  if (dst_type_max == 0 || (scale_alg == 2 && is_in_range)) return {};
  return refuse(
      "dst_type_max", to_string(dst_type_max),
      scale_alg == 2
          ? Text{"expected 0 or a number from ", to_string(top), " to ", to_string(2 * top)}
          : Text{"available: 0.0 (other values need ", Argument("scale_alg"), " 2)"});
}

Status MxQuant::take_rule() {
  rule = reference_rule(codes(), dst_type_max);
  return check_has_profile(name, numerics.profile);
}

Status MxQuant::check_shapes() {
  return check_packable(name, input_name_, input, codes(), outputs[0].dtype);
}

DynamicMxArgs MxQuant::args_of(const MxPart& part) const {
  return {.dtype = input.dtype,
          .format = codes(),
          .rows = part.rows,
          .n = part.n,
          .block = block_size,
          .x = part.numbers,
          .y = part.codes,
          .scales = part.scales,
          .rule = mx_rule(rule.greatest, scale_alg != 0, to_float32(max_low_bound)),
          .rounding = round_mode.value(),
          .stream = worth_streaming(bytes()),
          .in_tiles = part.in_tiles,
          .row_scales = part.row_scales};
}

void MxQuant::quantize_along(int place, const TensorView& y, const TensorView& mxscale,
                             const TensorView* row_scales, const RowGroups* groups) const {
  const bool is_wanted = y.present || mxscale.present || (row_scales && row_scales->present);
  if (!is_wanted) return;
  const MxWork work{.shape = input.shape,
                    .place = place,
                    .block = block_size,
                    .format = codes(),
                    .numbers = input,
                    .codes = y,
                    .scales = mxscale,
                    .row_scales = row_scales,
                    .groups = groups};
  work.for_each_part(work_bytes(bytes(), {&input, &y}), [this](const MxPart& part) {
    if (part.rows == 0) return clear(part.scales, part.n);
    const DynamicMxArgs args = args_of(part);
    part.is_in_rows ? run_on_active_target<MxRowsKernel>(args)
                    : run_on_active_target<MxColumnsKernel>(args);
  });
}

}  // namespace npu_quant
