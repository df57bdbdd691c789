// Groups of rows that follow on each other, as a list says.
#pragma once

#include <algorithm>
#include <memory>

#include "ops/contract/inputs.h"

namespace npu_quant {

// What a list of them may be.
inline constexpr Takes kGroups =
    one_of(kInt32).made_of(DType::int32).ranks(1, 1, "It holds the end of each group.");
Status check_group_count(const char* op, const char* argument, const TensorView& list);

class RowGroups {
 public:
  // Of each group: the row behind it, counted from the first of all, or how many rows it has.
  enum class Holds { ends, counts };
  // Which rows belong to a group; the last of these may count more rows than there are.
  enum class Of { all_rows, first_rows, rows_that_are_there };

  RowGroups() = default;
  RowGroups(const RowGroups&) = delete;  // the ends may lie inside

  // Copies a list of int32 or int64 of rank 1, so that nobody changes it, and judges it: no group
  // ends before the one it follows, and the last one where all rows of x do, or before.
  Status assign(const char* op, const char* argument, const TensorView& list, const char* x_name,
                int64_t rows, Holds holds = Holds::ends, Of of = Of::all_rows);
  // Of any ends: a group that ends before one it follows has no rows, and the last one all that are
  // left.
  Status assign_any(const char* op, const TensorView& list);

  int64_t count() const { return count_; }
  int64_t begin_of(int64_t group) const { return group == 0 ? 0 : ends_[group - 1]; }
  int64_t end_of(int64_t group) const { return ends_[group]; }
  // The group of a row, which is before the last end.
  int64_t group_of(int64_t row) const {
    return std::upper_bound(ends_, ends_ + count_ - 1, row) - ends_;
  }

  // Lines of blocks of so many rows, which begin anew in each group: those of a group begin at the
  // number of whole blocks in all the rows before it, and its own number more; some are of no rows.
  int64_t lines(int64_t block) const { return end_of(count_ - 1) / block + count_; }
  // Where a line begins, and how many rows of its group there are from there on.
  struct Line {
    int64_t row, rows;
  };
  Line line_at(int64_t line, int64_t block) const;

 private:
  Status copy(const char* op, const TensorView& list);
  int64_t first_line_of(int64_t group, int64_t block) const {
    return begin_of(group) / block + group;
  }

  static constexpr int64_t kFew = 32;  // small calls have no time to allocate
  int64_t count_ = 0;
  int64_t few_[kFew];
  std::unique_ptr<int64_t[]> many_;
  int64_t* ends_ = few_;
};

}  // namespace npu_quant
