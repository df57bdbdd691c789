#include "ops/dynamic_quant.h"

#include <limits>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/dynamic_quant.h"
#include "ops/parameter.h"

namespace npu_quant {
Inputs DynamicQuant::inputs() {
  return Inputs::of(required("input", input), optional("smooth_scales", smooth_scales));
}

Status DynamicQuant::check_dtypes() const {
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(name, "input", input));
  return check_same_dtype(name, "smooth_scales", smooth_scales, "input", input);
}

Status DynamicQuant::check_ranks() const {
  NPU_QUANT_RETURN_IF_ERROR(
      check_rank(name, "input", input, 2, kMaxRank,
                 input.rank < 2 ? "A token is a row: give it an axis, e.g. input.reshape(1, -1)."
                                : "Merge leading axes with input.reshape(-1, n)."));
  if (has_group_index) return {};  // one row for each group
  return check_rank(name, "smooth_scales", smooth_scales, 1, 1,
                    "It holds one factor per element of a token.");
}

void DynamicQuant::plan_outputs() {
  Shape tokens = input.shape;
  --tokens.rank;
  outputs.assign(codes_of("y", codes(), input.shape), OutputSpec{"scale", DType::float32, tokens});
}

Status DynamicQuant::check_attributes() {
  const auto unavailable = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::unavailable, {Argument(argument)}, came, allowed);
  };
  if (has_group_index)
    return unavailable(
        "group_index", "is given",
        {"available: ", Nothing(), " (one ", Argument("smooth_scales"), " for all tokens)"});
  if (!symmetric)
    return unavailable("offset", "is given", {"available: ", Nothing(), " (symmetric)"});
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kCodeFormats));
  NPU_QUANT_RETURN_IF_ERROR(
      quant_mode.check(name, Fault::unavailable, "quant_mode", "available: "));
  return check_dst_type_max(name, dst_type_max, codes());
}

Geometry DynamicQuant::geometry() const {
  return {.rows = outputs[kScale].shape.size(),
          .n = input.shape.dims[input.rank - 1],
          .greatest = dst_type_max};
}

Status DynamicQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "input", input, codes()));
  const Shape row = shape_along(input.shape, input.rank - 1, 1);
  if (!smooth_scales.present || smooth_scales.shape == row) return {};
  return wrong_shape(name, "smooth_scales", smooth_scales,
                     {"expected ", row, ": the last axis of ", Argument("input")});
}

Status DynamicQuant::run(const TensorView* out) const {
  const TensorView& y = out[kY];
  const TensorView& scale = out[kScale];
  if (!y.present && !scale.present) return {};
  const int last = input.rank - 1;
  const bool stream = worth_streaming(bytes());
  const Rows<3> rows(input.shape.dims, last, {input.strides, y.strides, scale.strides});
  Parameter smooth;
  if (smooth_scales.present && rows.count() > 0)
    NPU_QUANT_RETURN_IF_ERROR(smooth.assign(name, smooth_scales, smooth_scales.shape.dims[0]));
  const auto strided = [&](const TensorView& view, int t, const int64_t(&offsets)[3]) {
    if (!view.present) return Strided{};
    return Strided{view.data + offsets[t], rows.inner_stride(t), view.strides[last]};
  };
  const auto quantize = [&](int64_t begin, int64_t end) {
    rows.for_each_run(begin, end, [&](const int64_t(&offsets)[3], int64_t count) {
      const DynamicArgs args{.dtype = input.dtype,
                             .format = codes(),
                             .rows = count,
                             .n = input.shape.dims[last],
                             .group = input.shape.dims[last],
                             .x = strided(input, 0, offsets),
                             .smooth = {smooth.data(), 0, sizeof(float)},
                             .y = strided(y, 1, offsets),
                             .scale = strided(scale, 2, offsets),
                             .rule = rule,
                             .most_scale = std::numeric_limits<float>::infinity(),
                             .stream = stream};
      run_dynamic(args);
    });
  };
  parallel_for(rows.count(), work_bytes(bytes(), {&input, &y}), quantize);
  return {};
}

}  // namespace npu_quant
