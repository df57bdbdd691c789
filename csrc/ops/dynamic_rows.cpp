#include "ops/dynamic_rows.h"

#include <limits>

#include "ops/groups.h"

namespace npu_quant {
namespace {

constexpr int64_t kFewRows = 64, kPartOfRow = 1 << 15;

}  // namespace

Status SmoothRows::assign(const char* op, const TensorView& smooth_scales,
                          const TensorView& group_index) {
  if (!smooth_scales.present) return {};
  NPU_QUANT_RETURN_IF_ERROR(
      factors_.assign(op, smooth_scales, smooth_scales.shape, smooth_scales.strides));
  if (!group_index.present) return {};
  experts_ = group_index.shape.dims[0];
  row_stride_ = smooth_scales.shape.dims[1] * static_cast<int64_t>(sizeof(float));
  // The first end beyond a row is the first of the greatest so far that is.
  for (int64_t e = 0, greatest = 0; e + 1 < experts_; ++e)
    ends_[e] = greatest = std::max(greatest, group_end_at(group_index, e));
  return {};
}

int64_t SmoothRows::expert_of(int64_t row) const {
  return std::upper_bound(ends_, ends_ + experts_ - 1, row) - ends_;
}

Strided SmoothRows::of_row(int64_t row) const {
  if (factors_.data() == nullptr) return {};
  return {factors_.data() + expert_of(row) * row_stride_, 0, sizeof(float)};
}

int64_t SmoothRows::end_of(int64_t row) const {
  const int64_t expert = expert_of(row);
  return expert + 1 < experts_ ? ends_[expert] : std::numeric_limits<int64_t>::max();
}

DynamicRows::DynamicRows(const DynamicTensors& tensors, const SmoothRows& smooth, bool has_parts)
    : tensors_(tensors),
      smooth_(smooth),
      n_(tensors.of[tensors.kX]->shape.dims[tensors.of[tensors.kX]->rank - 1]),
      rows_(tensors.of[tensors.kX]->shape.dims, tensors.of[tensors.kX]->rank - 1,
            {tensors.of[tensors.kX]->strides, tensors.of[tensors.kY]->strides,
             tensors.of[tensors.kScale]->strides, tensors.of[tensors.kOffset]->strides}),
      segment_(has_parts && rows_.count() < kFewRows ? kPartOfRow : n_),
      segments_(Rows<kTensors>::segments_of(n_, segment_)) {}

RowsPart DynamicRows::part_at(int64_t row, const int64_t (&offsets)[kTensors], int64_t rows,
                              int64_t from, int64_t to) const {
  const int last = tensors_.of[tensors_.kX]->rank - 1;
  const auto strided = [&](int t, int64_t stride) {
    return tensors_.strided(t, offsets[t], rows_.inner_stride(t), stride).from(0, from);
  };
  return {.rows = rows,
          .n = to - from,
          .x = strided(tensors_.kX, tensors_.of[tensors_.kX]->strides[last]),
          .y = strided(tensors_.kY, tensors_.of[tensors_.kY]->strides[last]),
          .scale = strided(tensors_.kScale, 0),
          .offset = strided(tensors_.kOffset, 0),
          .smooth = smooth_.of_row(row).from(0, from)};
}

}  // namespace npu_quant
