// The rows of the dynamic quantizers: where they lie, and which factors they have.
#pragma once

#include <algorithm>

#include "ops/split/parameter.h"
#include "ops/split/tiles.h"

namespace npu_quant {

// smooth_scales and group_index: which factors the elements of a row have.
class SmoothRows {
 public:
  static constexpr int64_t kMostExperts = 1024;

  // Of group_index any values: the C API does not judge them.
  Status assign(const char* op, const TensorView& smooth_scales, const TensorView& group_index);

  // The factors of a row's elements, null where there are none.
  Strided of_row(int64_t row) const {
    if (factors_.data() == nullptr) return {};
    const int64_t group = groups_.count() > 0 ? groups_.group_of(row) : 0;
    return {factors_.data() + group * row_stride_, 0, sizeof(float)};
  }
  // Where the rows end that have the factors of this one.
  int64_t end_of(int64_t row) const {
    return groups_.count() > 0 ? groups_.end_of(groups_.group_of(row)) : INT64_MAX;
  }

 private:
  Parameter factors_;
  int64_t row_stride_ = 0;
  RowGroups groups_;  // none where all rows have the same factors
};

// Some rows, or a segment of one, and their factors in common.
struct RowsPart {
  int64_t rows, n;
  Strided x, y, scale, offset, smooth;
};

// What a dynamic quantizer reads and writes; absent where it is not wanted.
struct DynamicTensors {
  const TensorView &x, &y, &scale, &offset;  // the caller's: small calls have no time for copies
  bool packed;                               // codes share elements of y
};

// Rows along the last axis of x, or columns along the one before it.
class DynamicTiles {
 public:
  enum Parts { kRows, kPartsOfRows, kColumns };

  DynamicTiles(const DynamicTensors& of, const SmoothRows& smooth, Parts parts);

  int64_t count() const { return tiles_.count(); }

  // Calls run(part) for segments [begin, end); scales and offsets lie as rows of one.
  template <class Run>
  void for_each_part(int64_t begin, int64_t end, Run run) const {
    tiles_.for_each_part_of(begin, end, data_, [&](const Part& part) {
      const int64_t last = part.line + part.rows;
      int64_t row = part.line;
      for (int64_t end; (end = smooth_.end_of(row)) < last; row = end)
        run(some_rows(part, row, end - row));
      run(some_rows(part, row, last - row));
    });
  }
  // For all of them, on threads; `bytes` is what all of it reads and writes.
  template <class Run>
  void for_each_part(int64_t bytes, Run run) const {
    parallel_for(count(), bytes,
                 [&](int64_t begin, int64_t end) { for_each_part(begin, end, run); });
  }

 private:
  enum { kX, kY, kScale, kOffset, kTensors };
  using Part = Tiles<kTensors>::Part;

  static Tiles<kTensors> tiles_of(const DynamicTensors& of, Parts parts);
  RowsPart some_rows(const Part& part, int64_t row, int64_t rows) const;

  const SmoothRows& smooth_;
  const bool has_columns_;
  const Tiles<kTensors> tiles_;
  char* const data_[kTensors];
};

}  // namespace npu_quant
