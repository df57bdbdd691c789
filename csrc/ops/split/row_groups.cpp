#include "ops/split/row_groups.h"

#include <limits>
#include <new>

#include "ops/split/parameter.h"

namespace npu_quant {
Status check_group_count(const char* op, const char* argument, const TensorView& list) {
  if (list.shape.dims[0] > 0) return {};
  return wrong_shape(op, argument, list, "expected 1 or more entries");
}

Status RowGroups::copy(const char* op, const TensorView& list) {
  count_ = list.shape.dims[0];
  if (count_ > kFew) {
    many_.reset(new (std::nothrow) int64_t[static_cast<size_t>(count_)]);
    if (many_ == nullptr) return out_of_memory(op);
    ends_ = many_.get();
  }
  for (int64_t group = 0; group < count_; ++group)
    ends_[group] = integer_at(list.data + group * list.strides[0], list.dtype);
  return {};
}

Status RowGroups::assign(const char* op, const char* argument, const TensorView& list,
                         const char* x_name, int64_t rows, Holds holds, Of of) {
  NPU_QUANT_RETURN_IF_ERROR(copy(op, list));
  const auto wrong = [&](int64_t group, int64_t came, const Text& allowed) {
    return fault(op, Fault::attribute, {Argument(argument), "[", group, "]"}, {"is ", came},
                 allowed);
  };
  for (int64_t group = 0; group < count_; ++group) {
    const int64_t before = begin_of(group), came = ends_[group];
    if (holds == Holds::ends) {
      if (came >= before && (of == Of::all_rows || came <= rows)) continue;
      if (of == Of::first_rows && came > rows)
        return wrong(group, came,
                     {"expected at most ", rows, ", the number of rows of ", Argument(x_name)});
      return wrong(group, came,
                   {"expected at least ", before,
                    ": each entry is the row after its group, counted from the first row of ",
                    Argument(x_name)});
    }
    const bool may_be_more = of == Of::rows_that_are_there;
    if (may_be_more && came < 0)
      return wrong(group, came,
                   "expected 0 or more: each entry is the number of rows of its group");
    // Of those that are right no sum overflows.
    if (came < 0 || (came > rows - before && !may_be_more))
      return wrong(
          group, came,
          {"expected 0 to ", rows - before, ": each entry is the number of rows of its group, and ",
           Argument(x_name), " has ", rows});
    ends_[group] = before + std::min(came, rows - before);
  }
  const int64_t last = count_ - 1, begin = begin_of(last), end = end_of(last);
  if (end == rows || of != Of::all_rows) return {};
  if (holds == Holds::ends)
    return wrong(last, end, {"expected ", rows, ", the number of rows of ", Argument(x_name)});
  return wrong(last, end - begin,
               {"expected ", rows - begin, ", the rows of ", Argument(x_name), " that are left"});
}

// The first end beyond a row is the first of the greatest so far that is.
Status RowGroups::assign_any(const char* op, const TensorView& list) {
  NPU_QUANT_RETURN_IF_ERROR(copy(op, list));
  for (int64_t group = 0; group < count_; ++group)
    ends_[group] = std::max(begin_of(group), ends_[group]);
  ends_[count_ - 1] = std::numeric_limits<int64_t>::max();
  return {};
}

RowGroups::Line RowGroups::line_at(int64_t line, int64_t block) const {
  int64_t group = 0;
  for (int64_t behind = count_; group + 1 < behind;) {
    const int64_t middle = (group + behind) / 2;
    (first_line_of(middle, block) <= line ? group : behind) = middle;
  }
  const int64_t row =
      std::min(begin_of(group) + (line - first_line_of(group, block)) * block, end_of(group));
  return {row, end_of(group) - row};
}

}  // namespace npu_quant
