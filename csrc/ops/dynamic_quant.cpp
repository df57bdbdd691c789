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

Inputs DynamicQuant::inputs() {
  return Inputs::of({required("input", input), optional("smooth_scales", smooth_scales)});
}

Status DynamicQuant::check_dtypes() const {
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(name, "input", input));
  if (!smooth_scales.present) return {};
  return check_same_dtype(name, "smooth_scales", smooth_scales, "input", input);
}

Status DynamicQuant::check_ranks() const {
  NPU_QUANT_RETURN_IF_ERROR(
      check_rank(name, "input", input, 2, kMaxRank,
                 input.rank < 2 ? "A token is a row: give it an axis, e.g. input.reshape(1, -1)."
                                : "Merge leading axes with input.reshape(-1, n)."));
  if (!smooth_scales.present || has_group_index) return {};  // one row for each group
  return check_rank(name, "smooth_scales", smooth_scales, 1, 1,
                    "It holds one factor per element of a token.");
}

void DynamicQuant::plan_outputs() {
  Shape tokens = input.shape;
  --tokens.rank;
  outputs.assign({{"y", DType::int8, input.shape}, {"scale", DType::float32, tokens}});
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
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type));
  if (quant_mode != "pertoken")
    return unavailable("quant_mode", {"is ", quoted(quant_mode)}, "available: 'pertoken'");
  return check_no_dst_type_max(name, dst_type_max);
}

Geometry DynamicQuant::geometry() const {
  return {.rows = outputs[kScale].shape.size(), .n = input.shape.dims[input.rank - 1]};
}

Status DynamicQuant::check_shapes() {
  const Shape row{1, {input.shape.dims[input.rank - 1]}};
  if (!smooth_scales.present || smooth_scales.shape == row) return {};
  return fault(name, Fault::shape, {Argument("smooth_scales")}, {"has shape ", smooth_scales.shape},
               {"expected ", row, ": the last axis of ", Argument("input")});
}

int64_t DynamicQuant::bytes() const { return input.shape.size() * (size_of(input.dtype) + 1); }

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
