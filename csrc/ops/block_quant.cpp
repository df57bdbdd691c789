#include "ops/block_quant.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "kernels/dynamic_quant.h"
#include "ops/parameter.h"

namespace npu_quant {
namespace {

constexpr int64_t kColBlocks[] = {64, 128, 192, 256};
constexpr int64_t kSegment = 64 << 10;  // elements: threads share rows of longer blocks in these

// The lines of blocks of a call, and what the kernel is told about each part of them.
class BlockWork {
 public:
  BlockWork(const BlockQuant& op, const GroupLines* groups, const TensorView& y,
            const TensorView& scale)
      : groups_(groups) {
    const int last = op.x.rank - 1;
    const Shape& shape = op.x.shape;
    whole_ = {.dtype = op.x.dtype,
              .format = op.codes(),
              .rows = shape.dims[last - 1],
              .n = shape.dims[last],
              .group_rows = op.row_block_size,
              .group = op.col_block_size,
              .x = strided(op.x),
              .smooth = {},
              .y = strided(y),
              .scale = strided(scale),
              .rule = op.rule,
              .stream = worth_streaming(op.bytes())};
    if (op.x.rank == 3) {
      batches_ = shape.dims[0];
      const TensorView* const tensors[] = {&op.x, &y, &scale};
      for (int t = 0; t < kTensors; ++t) batch_strides_[t] = tensors[t]->strides[0];
    }
    if (groups == nullptr) {
      join_batches();
      join_rows();
    }
    lines_ = groups != nullptr ? groups->count() : blocks_of(whole_.rows, whole_.group_rows);
    const int64_t together = kSegment / (whole_.group_rows * whole_.group);
    segment_ = std::max<int64_t>(together, 1) * whole_.group;
    segments_ = blocks_of(whole_.n, segment_);
  }

  int64_t count() const { return batches_ * lines_ * segments_; }

  // Segments [begin, end) of all lines of blocks.
  void quantize(int64_t begin, int64_t end) const {
    while (begin < end) {
      const int64_t line = begin / segments_, first = begin % segments_;
      if (first == 0 && end - begin >= segments_) {
        const int64_t lines = std::min((end - begin) / segments_, lines_from(line));
        quantize_part(line, lines, 0, whole_.n);
        begin += lines * segments_;
      } else {
        const int64_t last = std::min(segments_, first + end - begin);
        quantize_part(line, 1, first * segment_, std::min(last * segment_, whole_.n));
        begin += last - first;
      }
    }
  }

 private:
  enum { kX, kY, kScale, kTensors };

  static Strided strided(const TensorView& view) {
    if (!view.present) return {};
    return {view.data, view.strides[view.rank - 2], view.strides[view.rank - 1]};
  }

  template <class Follows>
  bool of_all(Follows follows) const {
    return (follows(kX, whole_.x, whole_.rows, whole_.n)) &&
           (whole_.y.data == nullptr ||
            follows(kY, whole_.y, whole_.rows, whole_.n / whole_.packed())) &&
           (whole_.scale.data == nullptr ||
            follows(kScale, whole_.scale, whole_.rows / whole_.group_rows,
                    whole_.n / whole_.group));
  }
  // Batches of whole blocks that follow on each other are one.
  void join_batches() {
    if (whole_.rows % whole_.group_rows != 0 ||
        !of_all([&](int t, const Strided& tensor, int64_t rows, int64_t) {
          return batch_strides_[t] == rows * tensor.row_stride;
        }))
      return;
    whole_.rows *= std::exchange(batches_, 1);
  }
  // So are rows, where they share no scales.
  void join_rows() {
    if (batches_ > 1 || whole_.group_rows > 1 || whole_.n % whole_.group != 0 ||
        !of_all([](int, const Strided& tensor, int64_t, int64_t n) {
          return tensor.row_stride == n * tensor.stride;
        }))
      return;
    whole_.n *= std::exchange(whole_.rows, 1);
  }

  GroupLines::Line rows_at(int64_t line) const {
    if (groups_ != nullptr) return groups_->at(line % lines_);
    const int64_t row = line % lines_ * whole_.group_rows;
    return {row, whole_.rows - row};
  }
  // That follow on each other from one on, in x and in scale.
  int64_t lines_from(int64_t line) const {
    return std::max<int64_t>(blocks_of(rows_at(line).rows, whole_.group_rows), 1);
  }

  void quantize_part(int64_t line, int64_t lines, int64_t first, int64_t last) const {
    const int64_t batch = line / lines_;
    const auto [row, rows] = rows_at(line);
    const auto at = [&](int t, const Strided& tensor, int64_t from_row, int64_t i) {
      Strided part = tensor.from(from_row, i);
      if (part.data != nullptr) part.data += batch * batch_strides_[t];
      return part;
    };
    DynamicArgs part = whole_;
    part.rows = std::min(lines * whole_.group_rows, rows);
    part.n = last - first;
    part.x = at(kX, whole_.x, row, first);
    part.y = at(kY, whole_.y, row, first / whole_.packed());
    part.scale = at(kScale, whole_.scale, line % lines_, first / whole_.group);
    part.rows > 0 ? run_dynamic(part) : clear(part.scale, blocks_of(part.n, part.group));
  }
  // Of no rows.
  static void clear(const Strided& scale, int64_t blocks) {
    if (scale.data == nullptr) return;
    for (int64_t b = 0; b < blocks; ++b) std::memset(scale.from(0, b).data, 0, sizeof(float));
  }

  const GroupLines* const groups_;  // null where all rows are one
  DynamicArgs whole_{};
  int64_t batches_ = 1, batch_strides_[kTensors] = {};
  int64_t lines_, segment_, segments_;  // lines of blocks of a batch
};

}  // namespace

Format BlockQuant::codes() const {
  return is_among(dst_type.format, formats_) ? dst_type.format : by_default_;
}

Status BlockQuant::check_dtypes() const { return check_float_dtype(name, "x", x); }

Status BlockQuant::check_ranks() const {
  return check_rank(name, "x", x, 2, 3,
                    x.rank < 2 ? "Give it an axis, e.g. x.reshape(1, -1)."
                               : "Merge leading axes with x.reshape(-1, m, n).");
}

void BlockQuant::plan(int64_t lines) {
  Shape blocks = x.shape;
  int64_t* const dims = blocks.dims + x.rank - 2;
  dims[0] = lines;
  if (col_block_size > 0) dims[1] = blocks_of(dims[1], col_block_size);
  outputs.assign(codes_of("y", codes(), x.shape, dst_type.array),
                 OutputSpec{"scale", DType::float32, blocks});
}

Status BlockQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_bound(name, "min_scale", min_scale));
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, Fault::attribute, "round_mode", "available: "));
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, formats_));
  const bool is_hifloat8 = codes() == Format::hifloat8;
  if ((round_mode.value() == RoundMode::round) != is_hifloat8)
    return wrong("round_mode", {"is ", is_hifloat8 ? "'rint'" : "'round'"},
                 is_hifloat8
                     ? Text{"available for ", codes(), ": 'round' (its ties go away from zero)"}
                     : Text("available: 'rint'"));
  if (!is_among(row_block_size, row_blocks_))
    return wrong("row_block_size", {"is ", row_block_size}, {"available: ", listed(row_blocks_)});
  if (!is_among<int64_t>(col_block_size, kColBlocks))
    return wrong("col_block_size", {"is ", col_block_size},
                 {"available: ", listed<int64_t>(kColBlocks)});
  return {};
}

Status BlockQuant::take_rule() {
  rule = reference_rule(codes(), dst_type_max);
  bound_scales(min_scale, rule);
  return check_has_profile(name, numerics.profile);
}

Status BlockQuant::check_shapes() {
  return check_packable(name, "x", x, codes(), outputs[kY].dtype);
}

void BlockQuant::quantize(const GroupLines* groups, const TensorView* out) const {
  if (outputs[kScale].shape.size() == 0 || (!out[kY].present && !out[kScale].present)) return;
  const BlockWork work(*this, groups, out[kY], out[kScale]);
  const auto quantize = [&](int64_t begin, int64_t end) { work.quantize(begin, end); };
  parallel_for(work.count(), work_bytes(bytes(), {&x, &out[kY]}), quantize);
}

}  // namespace npu_quant
