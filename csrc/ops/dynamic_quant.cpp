#include "ops/dynamic_quant.h"

#include <cstring>
#include <memory>
#include <new>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/dynamic_quant.h"

namespace npu_quant {
namespace {

// smooth_scales is read once per row: one contiguous copy, unless it is contiguous already.
struct ContiguousVector {
  const char* data = nullptr;
  std::unique_ptr<char[]> copy;

  Status assign(const TensorView& view) {
    data = view.data;
    const int64_t item = size_of(view.dtype), n = view.shape.dims[0], stride = view.strides[0];
    if (stride == item || n <= 1) return {};
    copy.reset(new (std::nothrow) char[static_cast<size_t>(n * item)]);
    if (!copy) return out_of_memory(DynamicQuant::kName);
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(&copy[static_cast<size_t>(i * item)], data + i * stride,
                  static_cast<size_t>(item));
    data = copy.get();
    return {};
  }
};

}  // namespace

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
  ContiguousVector smooth;
  if (smooth_scales.present && rows.count() > 0)
    NPU_QUANT_RETURN_IF_ERROR(smooth.assign(smooth_scales));
  const auto quantize = [&](int64_t begin, int64_t end) {
    rows.for_each_run(begin, end, [&](const int64_t(&offsets)[3], int64_t count) {
      run_on_active_target<DynamicQuantKernel>({
          input.dtype,
          count,
          input.shape.dims[last],
          input.data + offsets[0],
          rows.inner_stride(0),
          input.strides[last],
          smooth.data,
          y.present ? y.data + offsets[1] : nullptr,
          rows.inner_stride(1),
          y.strides[last],
          scale.present ? scale.data + offsets[2] : nullptr,
          rows.inner_stride(2),
          worth_streaming(bytes()),
      });
    });
  };
  parallel_for(rows.count(), work_bytes(bytes(), {&input, &y}), quantize);
  return {};
}

}  // namespace npu_quant
