#include "ops/split/dynamic_rows.h"

#include <utility>

#include "ops/split/row_groups.h"

namespace npu_quant {
namespace {

// Threads share rows, of which there may be few, and columns, in so many elements.
constexpr int64_t kFewRows = 64, kPartOfRow = 1 << 15, kColumnsOfThread = 512;

Cut cut_of(const TensorView& x, DynamicTiles::Parts parts) {
  const int last = x.rank - 1;
  if (parts == DynamicTiles::kColumns)
    return {.group_rows = Cut::kAll, .columns = kColumnsOfThread, .row_axis = last - 1};
  if (parts == DynamicTiles::kRows) return {.group_columns = Cut::kAll};
  int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis) rows *= x.shape.dims[axis];
  return {.group_columns = Cut::kAll, .columns = rows < kFewRows ? kPartOfRow : INT64_MAX};
}

}  // namespace

Status SmoothRows::assign(const char* op, const TensorView& smooth_scales,
                          const TensorView& group_index) {
  if (!smooth_scales.present) return {};
  NPU_QUANT_RETURN_IF_ERROR(
      factors_.assign(op, smooth_scales, smooth_scales.shape, smooth_scales.strides));
  if (!group_index.present) return {};
  row_stride_ = smooth_scales.shape.dims[1] * static_cast<int64_t>(sizeof(float));
  return groups_.assign_any(op, group_index);
}

[[gnu::always_inline]]
inline Tiles<DynamicTiles::kTensors> DynamicTiles::tiles_of(const DynamicTensors& of, Parts parts) {
  const CodeStrides of_y(of.y, of.packed);
  const Cell of_codes{.columns = of.packed ? kPackedCodes : 1, .packed_item = of_y.item()};
  const Cells<kTensors> cells{{{}, of_codes, {}, {}}};
  const int64_t *scale = of.scale.strides, *offset = of.offset.strides;
  if (parts != kColumns)
    return {of.x.shape, {of.x.strides, of_y.data(), scale, offset}, cut_of(of.x, parts), cells};
  // They have no axis of rows.
  int64_t of_columns[2][kMaxRank];
  for (int axis = 0, last = of.x.rank - 1; axis <= last; ++axis) {
    of_columns[0][axis] = axis == last - 1 ? 0 : scale[std::min(axis, last - 1)];
    of_columns[1][axis] = axis == last - 1 ? 0 : offset[std::min(axis, last - 1)];
  }
  return {of.x.shape,
          {of.x.strides, of_y.data(), of_columns[0], of_columns[1]},
          cut_of(of.x, parts),
          cells};
}

DynamicTiles::DynamicTiles(const DynamicTensors& of, const SmoothRows& smooth, Parts parts)
    : smooth_(smooth),
      has_columns_(parts == kColumns),
      tiles_(tiles_of(of, parts)),
      data_{of.x.data, of.y.data, of.scale.data, of.offset.data} {}

// Whatever lies in columns is a row's in x, and is exchanged in place: a copy would wait for what
// was just stored.
RowsPart DynamicTiles::some_rows(const Part& part, int64_t row, int64_t rows) const {
  const auto at = [&](int t) { return part.at[t].from(row - part.line, 0); };
  RowsPart some{.rows = rows,
                .n = part.n,
                .x = at(kX),
                .y = at(kY),
                .scale = at(kScale),
                .offset = at(kOffset),
                .smooth = smooth_.of_row(row)};
  if (has_columns_)
    for (Strided* of_columns : {&some.scale, &some.offset, &some.smooth})
      std::swap(of_columns->row_stride, of_columns->stride);
  else if (some.smooth.data != nullptr)
    some.smooth.data += part.at.column * some.smooth.stride;
  return some;
}

}  // namespace npu_quant
