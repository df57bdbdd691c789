#include "ops/dynamic_mx_quant.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/dispatch.h"
#include "ops/mx_work.h"
#include "ops/parameter.h"

namespace npu_quant {
namespace {

constexpr int64_t kMostBlock = 1024;

}  // namespace

Inputs DynamicMxQuant::inputs() { return Inputs::of(required("input", input)); }

Status DynamicMxQuant::check_dtypes() const { return check_float_dtype(name, "input", input); }

Status DynamicMxQuant::check_ranks() const {
  return check_rank(name, "input", input, 1, kMaxRank - 1,
                    input.rank == 0 ? "Give it an axis with input.reshape(1)."
                                    : "Merge axes with input.reshape.");
}

Format DynamicMxQuant::codes() const {
  const auto* const end = std::end(kMxFormats);
  return std::find(kMxFormats, end, dst_type.format) != end ? dst_type.format : Format::float4_e2m1;
}

void DynamicMxQuant::plan_outputs() {
  const int last = input.rank - 1;
  place_ = static_cast<int>(std::clamp<int64_t>(axis < 0 ? axis + input.rank : axis, 0, last));
  outputs.assign(codes_of("y", codes(), input.shape, dst_type.array),
                 OutputSpec{"mxscale", mxscale_array,
                            mx_scales_of(input.shape, place_, std::max<int64_t>(block_size, 1))});
}

Status DynamicMxQuant::check_attributes() {
  const auto wrong = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, came, allowed);
  };
  int place;
  NPU_QUANT_RETURN_IF_ERROR(check_channel_axis(name, axis, input, "input", place));
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, Fault::attribute, "round_mode", "available: "));
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kMxFormats));
  if (!is_packed(codes()) && round_mode.value() != MxRounding::rint)
    return wrong("round_mode", {"is ", quoted(round_mode.word())},
                 {"available for ", codes(), ": 'rint'"});
  if (block_size % kMxCell != 0 || block_size < kMxCell || block_size > kMostBlock)
    return wrong("block_size", {"is ", block_size},
                 {"expected a multiple of ", kMxCell, " from ", kMxCell, " to ", kMostBlock});
  NPU_QUANT_RETURN_IF_ERROR(check_scale_alg());
  NPU_QUANT_RETURN_IF_ERROR(check_bound(name, "max_low_bound", max_low_bound));
  if (max_low_bound != 0 && scale_alg != 1)
    return wrong("max_low_bound", {"is ", to_string(max_low_bound)},
                 {"available: 0.0 (it belongs to ", Argument("scale_alg"), " 1)"});
  return {};
}

// And what goes with it.
Status DynamicMxQuant::check_scale_alg() const {
  const auto wrong = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, came, allowed);
  };
  const int64_t other = is_packed(codes()) ? 2 : 1;
  const bool has_other = codes() != Format::float4_e1m2;
  if (scale_alg != 0 && !(has_other && scale_alg == other))
    return wrong("scale_alg", {"is ", scale_alg},
                 has_other ? Text{"available for ", codes(), ": 0, ", other}
                           : Text{"available for ", codes(), ": 0"});
  if (scale_alg == 2 && block_size != kMxCell)
    return wrong("block_size", {"is ", block_size},
                 {"available with ", Argument("scale_alg"), " 2: ", kMxCell});
  constexpr double kLeast = 6, kGreatest = 12;
  const bool is_in_range = dst_type_max >= kLeast && dst_type_max <= kGreatest;
  if (dst_type_max == 0 || (scale_alg == 2 && is_in_range)) return {};
  return wrong("dst_type_max", {"is ", to_string(dst_type_max)},
               scale_alg == 2
                   ? Text("expected 0 or a number from 6 to 12")
                   : Text{"available: 0.0 (it belongs to ", Argument("scale_alg"), " 2)"});
}

Status DynamicMxQuant::check_shapes() {
  return check_packable(name, "input", input, codes(), outputs[kY].dtype);
}

MxRule DynamicMxQuant::mx_rule() const {
  constexpr int32_t kFraction = (1 << 23) - 1, kBias = 127;
  const auto greatest = std::bit_cast<int32_t>(rule.greatest);
  return {.least = std::bit_cast<int32_t>(to_float32(max_low_bound)),
          .added = scale_alg == 0 ? 0 : kFraction - (greatest & kFraction),
          .emax = (greatest >> 23) - kBias};
}

Status DynamicMxQuant::run(const TensorView* out) const {
  if (input.shape.size() == 0 || (!out[kY].present && !out[kMxScale].present)) return {};
  const MxWork work(input.shape, place_, block_size, codes(), {&input, &out[kY], &out[kMxScale]});
  const MxRule by = mx_rule();
  const bool stream = worth_streaming(bytes());
  work.for_each_part(work_bytes(bytes(), {&input, &out[kY]}), [&](const MxPart& part) {
    const DynamicMxArgs args{.dtype = input.dtype,
                             .format = codes(),
                             .rows = part.rows,
                             .n = part.n,
                             .block = block_size,
                             .x = part.numbers,
                             .y = part.codes,
                             .scales = part.scales,
                             .rule = by,
                             .rounding = round_mode.value(),
                             .stream = stream};
    part.is_in_rows ? run_on_active_target<MxRowsKernel>(args)
                    : run_on_active_target<MxColumnsKernel>(args);
  });
  return {};
}

}  // namespace npu_quant
