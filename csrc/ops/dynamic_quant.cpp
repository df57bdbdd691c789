#include "ops/dynamic_quant.h"

#include <limits>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/dynamic_quant.h"
#include "ops/parameter.h"

namespace npu_quant {
Status DynamicQuant::check_arrays() const {
  if (!input.present) return missing(kName, "input");
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(kName, "input", input));
  if (smooth_scales.present)
    NPU_QUANT_RETURN_IF_ERROR(
        check_same_dtype(kName, "smooth_scales", smooth_scales, "input", input));
  NPU_QUANT_RETURN_IF_ERROR(
      check_rank(kName, "input", input, 2, kMaxRank,
                 input.rank < 2 ? "A token is a row: give it an axis, e.g. input.reshape(1, -1)."
                                : "Merge leading axes with input.reshape(-1, n)."));
  if (smooth_scales.present && !has_group_index)  // one row for each group
    NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, "smooth_scales", smooth_scales, 1, 1,
                                         "It holds one factor per element of a token."));
  return {};
}

Status DynamicQuant::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  Shape tokens = input.shape;
  --tokens.rank;
  outputs[kY] = {"y", DType::int8, input.shape};
  outputs[kScale] = {"scale", DType::float32, tokens};
  if (has_group_index)
    return fault(kName, Fault::unavailable,
                 "group_index is given, available: None (one smooth_scales for all tokens).");
  if (!symmetric)
    return fault(kName, Fault::unavailable, "offset is given, available: None (symmetric).");
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(kName, dst_type));
  if (quant_mode != "pertoken")
    return fault(kName, Fault::unavailable,
                 "quant_mode is " + quoted(quant_mode) + ", available: 'pertoken'.");
  NPU_QUANT_RETURN_IF_ERROR(check_no_dst_type_max(kName, dst_type_max));
  const int64_t n = input.shape.dims[input.rank - 1];
  if (smooth_scales.present && smooth_scales.shape.dims[0] != n)
    return fault(kName, Fault::shape,
                 "smooth_scales has shape " + to_string(smooth_scales.shape) + ", expected (" +
                     std::to_string(n) + ",): the last axis of input.");
  return {};
}

int64_t DynamicQuant::bytes() const { return input.shape.size() * (size_of(input.dtype) + 1); }

Status DynamicQuant::check_outputs(const TensorView* out) const {
  return npu_quant::check_outputs(kName, {{"input", input}, {"smooth_scales", smooth_scales}},
                                  outputs, out, kOutputs);
}

Status DynamicQuant::run(const TensorView* out) const {
  const TensorView& y = out[kY];
  const TensorView& scale = out[kScale];
  if (!y.present && !scale.present) return {};
  const int last = input.rank - 1;
  const Rows<3> rows(input.shape.dims, last, {input.strides, y.strides, scale.strides});
  Parameter smooth;
  if (smooth_scales.present && rows.count() > 0)
    NPU_QUANT_RETURN_IF_ERROR(smooth.assign(kName, smooth_scales, smooth_scales.shape.dims[0]));
  const auto strided = [&](const TensorView& view, int t, const int64_t(&offsets)[3]) {
    if (!view.present) return Strided{};
    return Strided{view.data + offsets[t], rows.inner_stride(t), view.strides[last]};
  };
  const auto quantize = [&](int64_t begin, int64_t end) {
    rows.for_each_run(begin, end, [&](const int64_t(&offsets)[3], int64_t count) {
      const DynamicArgs args{.dtype = input.dtype,
                             .rows = count,
                             .n = input.shape.dims[last],
                             .group = input.shape.dims[last],
                             .x = strided(input, 0, offsets),
                             .smooth = {smooth.data(), 0, sizeof(float)},
                             .y = strided(y, 1, offsets),
                             .scale = strided(scale, 2, offsets),
                             .rule = {},
                             .most_scale = std::numeric_limits<float>::infinity(),
                             .stream = worth_streaming(bytes())};
      if (args.takes_fast_loop())
        run_on_active_target<DynamicQuantKernel>(args);
      else
        run_on_active_target<DynamicPiecesKernel>(args);
    });
  };
  parallel_for(rows.count(), work_bytes(bytes(), {&input, &y}), quantize);
  return {};
}

}  // namespace npu_quant
