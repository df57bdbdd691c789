#include "ops/groups.h"

#include <cstring>

namespace npu_quant {

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

}  // namespace npu_quant
