// How the work of a call is cut: the axes of its tensors into rows and columns, and these into
// parts of whole groups, which threads share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/axes.h"
#include "core/ceil_div.h"
#include "core/parallel.h"
#include "core/strided.h"
#include "ops/split/row_groups.h"

namespace npu_quant {

// What elements have in common in a tensor.
struct Cell {
  int64_t columns = 1;         // so many share an element
  bool of_groups = false;      // the rows of a group share one
  bool of_row_groups = false;  // those of one of Cut::row_groups do
  int64_t packed_item = 0;     // of Strided; `columns` is kPackedCodes then
};
template <int tensors>
struct Cells {
  Cell of[tensors];
};

struct Cut {
  static constexpr int kNone = -1;
  static constexpr int64_t kAll = 0;

  // A group is cut at the end of an axis only. Rows that are a group each are not joined.
  int64_t group_rows = 1, group_columns = 1;
  int64_t columns = INT64_MAX;            // of a segment, at most: of whole groups
  int64_t head = 0;                       // more of them has the first one
  int64_t elements = INT64_MAX;           // of a part of several groups of rows, at most
  int row_axis = kNone;                   // of the rows; else all axes before the last are
  int order_of = kNone;                   // the tensor that is walked as it lies in memory
  const RowGroups* row_groups = nullptr;  // groups of rows begin anew in each of them
};

// Columns lie along the last axis, and along those that it continues in every tensor; with an axis
// of rows, the elements of all other axes have a matrix each.
//
//   line 0   | segment 0 | segment 1 | 2 |    A line is a group of rows, a segment as many columns
//   line 1   | segment 3 | segment 4 | 5 |    as threads share lines by. A part is some lines, or
//   line 2   | segment 6 | segment 7 | 8 |    some segments of one.
template <int tensors>
class Tiles {
 public:
  struct Part;

  // The strides are in bytes, along the last axis from an element to the next that is not shared.
  [[gnu::always_inline]]
  Tiles(const Shape& shape, const int64_t* const (&strides)[tensors], const Cut& cut,
        const Cells<tensors>& cells = {})
      : cut_(cut), cells_(cells) {
    take_axes(shape, strides);
    if (const int axis = axes_.pop(n_); axis >= 0)
      for (int t = 0; t < tensors; ++t) steps_[t].stride = axes_.strides[t][axis];
    if (cut.row_axis != Cut::kNone) {
      take_rows(shape.dims[cut.row_axis], strides);
    } else if (const int axis = axes_.pop(lines_); axis >= 0) {
      for (int t = 0; t < tensors; ++t) steps_[t].row_stride = bytes_of(t, axes_.strides[t][axis]);
    }
    segments_ = std::max<int64_t>(ceil_div(n_ - cut.head, cut.columns),
                                  n_ > 0 || cut.group_columns == Cut::kAll);
    matrices_ = axes_.count();
  }

  int64_t count() const { return matrices_ * lines_ * segments_; }

  // Calls run(part) on threads, with the tensors that begin at `data`; `bytes` is what all of it
  // reads and writes.
  template <class Run>
  void for_each_part(char* const (&data)[tensors], int64_t bytes, Run run) const {
    parallel_for(count(), bytes,
                 [&](int64_t begin, int64_t end) { for_each_part_of(begin, end, data, run); });
  }
  // Of segments [begin, end). `run` is called from one place, where it is inlined.
  template <class Run>
  void for_each_part_of(int64_t begin, int64_t end, char* const (&data)[tensors], Run run) const {
    while (begin < end) {
      const int64_t line = segments_ == 1 ? begin : begin / segments_;
      const int64_t first = segments_ == 1 ? 0 : begin % segments_;
      int64_t lines = 1, from = 0, to = n_, done;
      if (first == 0 && end - begin >= segments_) {
        const int64_t whole = segments_ == 1 ? end - begin : (end - begin) / segments_;
        lines = std::min(whole, lines_from(line));
        done = lines * segments_;
      } else {
        const int64_t last = std::min(segments_, first + end - begin);
        if (first > 0) from = end_of(first - 1);
        to = end_of(last - 1);
        done = last - first;
      }
      run(part_at(data, line, lines, from, to));
      begin += done;
    }
  }

 private:
  // A stride of an axis but the last as CodeStrides are: rows that follow on each other are one row
  // by these, whatever shares an element.
  int64_t times_columns(int t, int64_t stride) const {
    const Cell& cell = cells_.of[t];
    return cell.packed_item > 0 ? stride : stride * cell.columns;
  }
  // Of an offset in bytes times the columns that share an element.
  int64_t bytes_of(int t, int64_t offset) const {
    const int64_t columns = cells_.of[t].columns;
    return columns == 1 ? offset : offset / columns;
  }

  [[gnu::always_inline]]
  void take_axes(const Shape& shape, const int64_t* const (&strides)[tensors]) {
    int order[kMaxRank];
    if (cut_.order_of != Cut::kNone) find_order(shape.rank, strides[cut_.order_of], order);
    for (int i = 0; i < shape.rank; ++i) {
      const int axis = cut_.order_of != Cut::kNone ? order[i] : i;
      if (axis == cut_.row_axis) continue;
      const bool is_last = i + 1 == shape.rank;
      const auto stride_of = [&](int t) {
        return is_last ? strides[t][axis] : times_columns(t, strides[t][axis]);
      };
      axes_.append(shape.dims[axis], stride_of, !is_last || may_join(shape.dims[axis]));
    }
  }
  bool may_join(int64_t columns) const {
    return cut_.group_columns != Cut::kAll && columns % cut_.group_columns == 0;
  }
  // The longest strides first.
  static void find_order(int rank, const int64_t* strides, int (&order)[kMaxRank]) {
    const auto length = [&](int axis) { return std::abs(strides[axis]); };
    for (int axis = 0; axis < rank; ++axis) {
      int place = axis;
      for (; place > 0 && length(order[place - 1]) < length(axis); --place)
        order[place] = order[place - 1];
      order[place] = axis;
    }
  }

  void take_rows(int64_t rows, const int64_t* const (&strides)[tensors]) {
    for (int t = 0; t < tensors; ++t)
      steps_[t].row_stride = bytes_of(t, times_columns(t, strides[t][cut_.row_axis]));
    if (cut_.group_rows == Cut::kAll) {
      cut_.group_rows = rows_ = rows;
    } else if (cut_.row_groups != nullptr) {
      lines_ = cut_.row_groups->lines(cut_.group_rows);
    } else {
      rows_ = rows;
      join_matrices();
      lines_ = ceil_div(rows_, cut_.group_rows);
    }
  }
  // Those of whole groups that follow on each other.
  void join_matrices() {
    if (axes_.rank == 0 || rows_ % cut_.group_rows != 0) return;
    const int outer = axes_.rank - 1;
    for (int t = 0; t < tensors; ++t) {
      const int64_t rows = cells_.of[t].of_groups ? rows_ / cut_.group_rows : rows_;
      if (bytes_of(t, axes_.strides[t][outer]) != rows * steps_[t].row_stride) return;
    }
    int64_t joined;
    axes_.pop(joined);
    rows_ *= joined;
  }

  int64_t end_of(int64_t segment) const {
    return segment + 1 < segments_ ? cut_.head + (segment + 1) * cut_.columns : n_;
  }
  // Where a line of a matrix begins, and the rows from there on.
  RowGroups::Line rows_at(int64_t line) const {
    if (cut_.row_groups != nullptr) return cut_.row_groups->line_at(line, cut_.group_rows);
    if (cut_.row_axis == Cut::kNone) return {line, lines_ - line};
    return {line * cut_.group_rows, rows_ - line * cut_.group_rows};
  }
  // How many lines a part may have from one on.
  int64_t lines_from(int64_t line) const {
    const int64_t lines = ceil_div(rows_at(in_matrix(line)).rows, cut_.group_rows);
    const int64_t most =
        cut_.elements == INT64_MAX ? lines : cut_.elements / (cut_.group_rows * n_);
    return std::max<int64_t>(std::min(lines, most), 1);
  }
  int64_t in_matrix(int64_t line) const { return matrices_ == 1 ? line : line % lines_; }

  Part part_at(char* const (&data)[tensors], int64_t line, int64_t lines, int64_t first,
               int64_t last) const {
    const int64_t group = in_matrix(line);
    const auto [row, rows] = rows_at(group);
    Part part{std::min(rows, lines * cut_.group_rows),
              last - first,
              line,
              {*this, data, row, group, first, {}}};
    if (matrices_ > 1) axes_.find_offsets(line / lines_, part.at.offsets);
    return part;
  }

  struct Steps {
    int64_t row_stride = 0, stride = 0;
  };

  Cut cut_;
  Cells<tensors> cells_;
  Axes<tensors> axes_;    // of matrices
  Steps steps_[tensors];  // of a matrix
  int64_t rows_ = 0;      // of a matrix, with an axis of rows and no groups of them
  int64_t n_ = 1, segments_, lines_ = 1, matrices_;
};

// Some rows, and so many elements of each. `at[t]` is where they are in a tensor; it has no data
// where the tensor is absent.
template <int tensors>
struct Tiles<tensors>::Part {
  // Found where it is asked for: small calls have no time for copies.
  struct Places {
    const Tiles& tiles;
    char* const (&data)[tensors];
    int64_t row, group, column;  // of a matrix
    int64_t offsets[tensors];    // of the matrix, where there are several

    Strided operator[](int t) const {
      if (data[t] == nullptr) return {};
      const auto [row_stride, stride] = tiles.steps_[t];
      const Cell& cell = tiles.cells_.of[t];
      int64_t offset = (cell.of_groups ? group : row) * row_stride;
      if (cell.of_row_groups) offset = tiles.cut_.row_groups->group_of(row) * row_stride;
      if (tiles.matrices_ > 1) offset += tiles.bytes_of(t, offsets[t]);
      if (column > 0) offset += tiles.bytes_of(t, column) * stride;
      return {data[t] + offset, cell.of_row_groups ? 0 : row_stride, stride, nullptr,
              cell.packed_item};
    }
  };

  int64_t rows, n;
  int64_t line;  // the first, counted through all matrices
  Places at;
};

}  // namespace npu_quant
