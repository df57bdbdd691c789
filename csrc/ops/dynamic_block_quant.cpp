#include "ops/dynamic_block_quant.h"

#include <algorithm>
#include <utility>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/dynamic_quant.h"
#include "ops/parameter.h"

namespace npu_quant {
namespace {

constexpr int64_t kBlock = DynamicBlockQuantKernel::kBlock;
constexpr int64_t kSegment = 512 * kBlock;  // threads share a long row in these

// Of a number as float32: infinity of 0.
float reciprocal_of(double number) {
  Parameter one, inverse;
  one.assign(number);
  if (!inverse.assign_reciprocals("", one).ok()) return 0;  // never: it is one
  return inverse.bounds().greatest;
}

// The rows of a call, and what the kernel is told about each part of them.
class BlockWork {
 public:
  BlockWork(const DynamicBlockQuant& op, const TensorView& y, const TensorView& scale)
      : rows_(op.x.shape.dims, op.x.rank - 1, {op.x.strides, y.strides, scale.strides}) {
    const int last = op.x.rank - 1;
    whole_.dtype = op.x.dtype;
    whole_.rows = rows_.count();
    whole_.n = op.x.shape.dims[last];
    whole_.group = kBlock;
    whole_.x = {op.x.data, rows_.inner_stride(0), op.x.strides[last]};
    if (y.present) whole_.y = {y.data, rows_.inner_stride(1), y.strides[last]};
    if (scale.present) whole_.scale = {scale.data, rows_.inner_stride(2), scale.strides[last]};
    whole_.rule = op.rule;
    whole_.most_scale = reciprocal_of(op.min_scale);
    whole_.stream = worth_streaming(op.bytes());
    joined_ = follow_on_each_other();
    if (joined_) whole_.n *= std::exchange(whole_.rows, 1);
  }

  int64_t count() const { return whole_.rows * rows_.segments_of(whole_.n, kSegment); }

  void quantize(int64_t begin, int64_t end) const {
    const auto run = [&](const int64_t(&offsets)[3], int64_t rows, int64_t first, int64_t last) {
      quantize_part(offsets, rows, first, last);
    };
    if (!joined_) return rows_.for_each_segment(begin, end, whole_.n, kSegment, run);
    run({0, 0, 0}, 1, begin * kSegment, std::min(end * kSegment, whole_.n));
  }

 private:
  // Rows of whole blocks without gaps between them are one long row.
  bool follow_on_each_other() const {
    const auto follow = [](const Strided& tensor, int64_t n) {
      return tensor.data == nullptr || tensor.row_stride == n * tensor.stride;
    };
    return whole_.n % kBlock == 0 && rows_.is_single_axis() && follow(whole_.x, whole_.n) &&
           follow(whole_.y, whole_.n) && follow(whole_.scale, whole_.n / kBlock);
  }

  void quantize_part(const int64_t (&offsets)[3], int64_t rows, int64_t first, int64_t last) const {
    const auto at = [&](const Strided& tensor, int t, int64_t i) {
      Strided part = tensor.from(0, i);
      if (part.data != nullptr) part.data += offsets[t];
      return part;
    };
    DynamicArgs part = whole_;
    part.rows = rows;
    part.n = last - first;
    part.x = at(whole_.x, 0, first);
    part.y = at(whole_.y, 1, first);
    part.scale = at(whole_.scale, 2, first / kBlock);
    run_dynamic<DynamicBlockQuantKernel>(part);
  }

  DynamicArgs whole_{};
  Rows<3> rows_;
  bool joined_ = false;
};

}  // namespace

Inputs DynamicBlockQuant::inputs() { return Inputs::of(required("x", x)); }

Status DynamicBlockQuant::check_dtypes() const { return check_float_dtype(name, "x", x); }

Status DynamicBlockQuant::check_ranks() const {
  return check_rank(name, "x", x, 2, 3,
                    x.rank < 2 ? "Give it an axis, e.g. x.reshape(1, -1)."
                               : "Merge leading axes with x.reshape(-1, m, n).");
}

void DynamicBlockQuant::plan_outputs() {
  Shape blocks = x.shape;
  blocks.dims[x.rank - 1] = (x.shape.dims[x.rank - 1] + kBlock - 1) / kBlock;
  outputs.assign(OutputSpec{"y", DType::int8, x.shape},
                 OutputSpec{"scale", DType::float32, blocks});
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
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, Fault::attribute, "round_mode", "available: "));
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kInt8Only));
  if (row_block_size != 1) return wrong("row_block_size", {"is ", row_block_size}, "available: 1");
  if (col_block_size != kBlock)
    return wrong("col_block_size", {"is ", col_block_size}, {"available: ", kBlock});
  return check_no_dst_type_max(name, dst_type_max);
}

Geometry DynamicBlockQuant::geometry() const {
  return {.rows = outputs[kScale].shape.size(), .n = kBlock};
}

Status DynamicBlockQuant::run(const TensorView* out) const {
  if (!out[kY].present && !out[kScale].present) return {};
  const BlockWork work(*this, out[kY], out[kScale]);
  const auto quantize = [&](int64_t begin, int64_t end) { work.quantize(begin, end); };
  parallel_for(work.count(), work_bytes(bytes(), {&x, &out[kY]}), quantize);
  return {};
}

}  // namespace npu_quant
