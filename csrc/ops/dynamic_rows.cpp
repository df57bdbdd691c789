#include "ops/dynamic_rows.h"

#include <limits>

#include "ops/groups.h"

namespace npu_quant {
namespace {

// Threads share rows, of which there may be few, and columns, in so many elements.
constexpr int64_t kFewRows = 64, kPartOfRow = 1 << 15, kColumnsOfThread = 512;

Cut cut_of(const TensorView& x, DynamicTiles::Parts parts) {
  const int last = x.rank - 1;
  if (parts == DynamicTiles::kColumns)
    return {.group_rows = Cut::kAll, .columns = kColumnsOfThread, .row_axis = last - 1};
  int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis) rows *= x.shape.dims[axis];
  const bool are_cut = parts == DynamicTiles::kPartsOfRows && rows < kFewRows;
  return {.group_columns = Cut::kAll, .columns = are_cut ? kPartOfRow : INT64_MAX};
}

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

int64_t SmoothRows::end_of(int64_t row) const {
  const int64_t expert = expert_of(row);
  return expert + 1 < experts_ ? ends_[expert] : std::numeric_limits<int64_t>::max();
}

// Groups have the axes of x but their own.
DynamicTiles::Strides::Strides(const DynamicTensors& of, Parts parts) {
  const int last = of.x.rank - 1, own = parts == kColumns ? last - 1 : last;
  for (int axis = 0; axis <= last; ++axis) {
    scale[axis] = axis == own ? 0 : of.scale.strides[axis - (axis > own)];
    offset[axis] = axis == own ? 0 : of.offset.strides[axis - (axis > own)];
  }
  smooth[own] = sizeof(float);
}

DynamicTiles::DynamicTiles(const DynamicTensors& of, const SmoothRows& smooth, Parts parts)
    : DynamicTiles(of, smooth, parts, Strides(of, parts)) {}

DynamicTiles::DynamicTiles(const DynamicTensors& of, const SmoothRows& smooth, Parts parts,
                           const Strides& strides)
    : smooth_(smooth),
      has_columns_(parts == kColumns),
      tiles_(
          of.x.shape, {of.x.strides, of.y.strides, strides.scale, strides.offset, strides.smooth},
          cut_of(of.x, parts),
          {{{},
            {.columns = of.packed ? kPackedCodes : 1, .packed_item = of.packed ? kPackedItem : 0},
            {},
            {},
            {}}}),
      data_{of.x.data, of.y.data, of.scale.data, of.offset.data, smooth.data()} {}

RowsPart DynamicTiles::some_rows(const Part& part, int64_t row, int64_t rows) const {
  const auto at = [&](int t) { return part.at[t].from(row - part.line, 0); };
  const auto of_groups = [&](int t) {
    const Strided groups = at(t);
    return has_columns_ ? Strided{groups.data, groups.stride, 0} : groups;
  };
  Strided smooth = part.at[kSmooth];
  if (smooth.data != nullptr) smooth.data += smooth_.offset_of(row);
  return {.rows = rows,
          .n = part.n,
          .x = at(kX),
          .y = at(kY),
          .scale = of_groups(kScale),
          .offset = of_groups(kOffset),
          .smooth = smooth};
}

}  // namespace npu_quant
