#include "ops/dynamic_block_quant.h"

#include <algorithm>
#include <utility>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/dynamic_block_quant.h"

namespace npu_quant {
namespace {

constexpr int64_t kBlock = DynamicBlockQuantKernel::kBlock;
constexpr int64_t kSegment = 512 * kBlock;  // threads share a long row in these

// The rows of a call, and what the kernel is told about each part of them.
class BlockWork {
 public:
  BlockWork(const DynamicBlockQuant& op, const TensorView& y, const TensorView& scale)
      : rows_(op.x.shape.dims, op.x.rank - 1, {op.x.strides, y.strides, scale.strides}) {
    const int last = op.x.rank - 1;
    whole_.dtype = op.x.dtype;
    whole_.rows = rows_.count();
    whole_.n = op.x.shape.dims[last];
    whole_.x = op.x.data;
    whole_.x_stride = op.x.strides[last];
    whole_.x_row_stride = rows_.inner_stride(0);
    whole_.y = y.present ? y.data : nullptr;
    whole_.y_stride = y.strides[last];
    whole_.y_row_stride = rows_.inner_stride(1);
    whole_.scale = scale.present ? scale.data : nullptr;
    whole_.scale_stride = scale.strides[last];
    whole_.scale_row_stride = rows_.inner_stride(2);
    whole_.min_scale = op.min_scale;
    whole_.stream = worth_streaming(op.bytes());
    joined_ = follow_on_each_other();
    if (joined_) whole_.n *= std::exchange(whole_.rows, 1);
    segments_ = std::max<int64_t>(1, (whole_.n + kSegment - 1) / kSegment);
  }

  int64_t count() const { return whole_.rows * segments_; }

  void quantize(int64_t begin, int64_t end) const {
    if (joined_) return quantize_part({0, 0, 0}, 1, begin, end);
    if (segments_ == 1)
      return rows_.for_each_run(begin, end, [&](const int64_t(&offsets)[3], int64_t rows) {
        quantize_part(offsets, rows, 0, 1);
      });
    while (begin < end) {
      const int64_t row = begin / segments_, first = begin % segments_;
      const int64_t count = std::min(segments_ - first, end - begin);
      rows_.for_each_run(row, row + 1, [&](const int64_t(&offsets)[3], int64_t rows) {
        quantize_part(offsets, rows, first, first + count);
      });
      begin += count;
    }
  }

 private:
  // Rows of whole blocks without gaps between them are one long row.
  bool follow_on_each_other() const {
    return whole_.n % kBlock == 0 && rows_.is_single_axis() &&
           whole_.x_row_stride == whole_.n * whole_.x_stride &&
           (whole_.y == nullptr || whole_.y_row_stride == whole_.n * whole_.y_stride) &&
           (whole_.scale == nullptr ||
            whole_.scale_row_stride == whole_.n / kBlock * whole_.scale_stride);
  }

  void quantize_part(const int64_t (&offsets)[3], int64_t rows, int64_t begin_segment,
                     int64_t end_segment) const {
    const int64_t first = begin_segment * kSegment;
    auto part = whole_;
    part.rows = rows;
    part.n = std::min(end_segment * kSegment, whole_.n) - first;
    part.x += offsets[0] + first * part.x_stride;
    if (part.y != nullptr) part.y += offsets[1] + first * part.y_stride;
    if (part.scale != nullptr) part.scale += offsets[2] + first / kBlock * part.scale_stride;
    run_on_active_target<DynamicBlockQuantKernel>(part);
  }

  DynamicBlockQuantKernel::Args whole_{};
  Rows<3> rows_;
  bool joined_ = false;
  int64_t segments_ = 1;
};

}  // namespace

Inputs DynamicBlockQuant::inputs() { return Inputs::of({required("x", x)}); }

Status DynamicBlockQuant::check_dtypes() const { return check_float_dtype(name, "x", x); }

Status DynamicBlockQuant::check_ranks() const {
  return check_rank(name, "x", x, 2, 3,
                    x.rank < 2 ? "Give it an axis, e.g. x.reshape(1, -1)."
                               : "Merge leading axes with x.reshape(-1, m, n).");
}

void DynamicBlockQuant::plan_outputs() {
  Shape blocks = x.shape;
  blocks.dims[x.rank - 1] = (x.shape.dims[x.rank - 1] + kBlock - 1) / kBlock;
  outputs.assign({{"y", DType::int8, x.shape}, {"scale", DType::float32, blocks}});
}

Status DynamicBlockQuant::check_attributes() {
  // From here on a double rounds to infinity in float32; no conversion, which would round the
  // caller's way.
  constexpr double kInfiniteInFloat = 0x1.ffffffp127;
  const auto wrong = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, came, allowed);
  };
  if (!(min_scale >= 0) || min_scale >= kInfiniteInFloat)
    return wrong(
        "min_scale", {"is ", to_string(min_scale)},
        {"expected a number >= 0 that is finite in ", Format::float32, " (0 means no bound)"});
  if (round_mode != "rint")
    return wrong("round_mode", {"is ", quoted(round_mode)}, "available: 'rint'");
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type));
  if (row_block_size != 1) return wrong("row_block_size", {"is ", row_block_size}, "available: 1");
  if (col_block_size != kBlock)
    return wrong("col_block_size", {"is ", col_block_size}, {"available: ", kBlock});
  return check_no_dst_type_max(name, dst_type_max);
}

Geometry DynamicBlockQuant::geometry() const {
  return {.rows = outputs[kScale].shape.size(), .n = kBlock};
}

int64_t DynamicBlockQuant::bytes() const { return x.shape.size() * (size_of(x.dtype) + 1); }

Status DynamicBlockQuant::run(const TensorView* out) const {
  if (!out[kY].present && !out[kScale].present) return {};
  const BlockWork work(*this, out[kY], out[kScale]);
  const auto quantize = [&](int64_t begin, int64_t end) { work.quantize(begin, end); };
  parallel_for(work.count(), work_bytes(bytes(), {&x, &out[kY]}), quantize);
  return {};
}

}  // namespace npu_quant
