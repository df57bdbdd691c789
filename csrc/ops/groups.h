// Groups of rows that follow on each other, by where each of them ends.
#pragma once

#include <memory>

#include "ops/contract.h"

namespace npu_quant {

Status check_group_rank(const char* op, const char* argument, const TensorView& ends);
Status check_group_count(const char* op, const char* argument, const TensorView& ends);

// `ends` is int32, of rank 1.
int64_t group_end_at(const TensorView& ends, int64_t group);

// None is before the one it follows, and the last one is that of all rows of x.
Status check_group_ends(const char* op, const char* argument, const TensorView& ends,
                        const char* x_name, int64_t rows);

// Lines of blocks of so many rows, which begin anew in each group: those of a group begin at the
// number of whole blocks in all the rows before it, and its own number more; some are of no rows.
class GroupLines {
 public:
  // Copies the ends, so that nobody changes them, and judges them.
  Status assign(const char* op, const char* argument, const TensorView& ends, const char* x_name,
                int64_t rows, int64_t block);

  int64_t count() const { return rows_ / block_ + groups_; }

  // Where a line begins, and how many rows of its group there are from there on.
  struct Line {
    int64_t row, rows;
  };
  Line at(int64_t line) const;

 private:
  int64_t begin_of(int64_t group) const { return group == 0 ? 0 : ends_[group - 1]; }
  int64_t first_line_of(int64_t group) const { return begin_of(group) / block_ + group; }

  std::unique_ptr<int32_t[]> ends_;
  int64_t groups_ = 0, rows_ = 0, block_ = 1;
};

}  // namespace npu_quant
