#include "ops/groups.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace npu_quant {

Status check_group_rank(const char* op, const char* argument, const TensorView& ends) {
  return check_rank(op, argument, ends, 1, 1, "It holds the end of each group.");
}

Status check_group_count(const char* op, const char* argument, const TensorView& ends) {
  if (ends.shape.dims[0] > 0) return {};
  return wrong_shape(op, argument, ends, "expected 1 or more entries");
}

int64_t group_end_at(const TensorView& ends, int64_t group) {
  int32_t end;
  std::memcpy(&end, ends.data + group * ends.strides[0], sizeof end);
  return end;
}

Status check_group_ends(const char* op, const char* argument, const TensorView& ends,
                        const char* x_name, int64_t rows) {
  const auto wrong = [&](int64_t group, int64_t end, const Text& allowed) {
    return fault(op, Fault::attribute, {Argument(argument), "[", group, "]"}, {"is ", end},
                 allowed);
  };
  const int64_t groups = ends.shape.dims[0];
  int64_t before = 0, end = 0;
  for (int64_t group = 0; group < groups; before = end, ++group) {
    end = group_end_at(ends, group);
    if (end < before)
      return wrong(group, end,
                   {"expected at least ", before,
                    ": it holds the row behind each group, counted from the first row of ",
                    Argument(x_name)});
  }
  if (end == rows) return {};
  return wrong(groups - 1, end, {"expected ", rows, ", the number of rows of ", Argument(x_name)});
}

Status GroupLines::assign(const char* op, const char* argument, const TensorView& ends,
                          const char* x_name, int64_t rows, int64_t block) {
  rows_ = rows, block_ = block, groups_ = ends.shape.dims[0];
  ends_.reset(new (std::nothrow) int32_t[static_cast<size_t>(groups_)]);
  if (ends_ == nullptr) return out_of_memory(op);
  for (int64_t g = 0; g < groups_; ++g) ends_[g] = static_cast<int32_t>(group_end_at(ends, g));
  return check_group_ends(op, argument, contiguous_view(ends_.get(), DType::int32, groups_), x_name,
                          rows);
}

GroupLines::Line GroupLines::at(int64_t line) const {
  const int32_t* const ends = ends_.get();
  const auto is_before = [&](int64_t l, const int32_t& end) {
    return l < first_line_of(&end - ends + 1);
  };
  const int64_t group = std::upper_bound(ends, ends + groups_ - 1, line, is_before) - ends;
  const int64_t end = ends[group];
  const int64_t row = std::min(begin_of(group) + (line - first_line_of(group)) * block_, end);
  return {row, end - row};
}

}  // namespace npu_quant
