// What the tests of refusals share: arguments that are changed, and what is said of them.
#pragma once

#include "functions.h"

namespace npu_quant::testing {

enum class Kind { invalid, shape, attribute };

// It counts for all versions of a function that have what it changes.
struct Refusal {
  const char* name;
  Parameters changes;
  const char* text;  // of the message
  Kind kind = Kind::invalid;
};

inline const Dims kNine(9, 1);

inline void expect_refusals(const Refusal* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Refusal& row = rows[i];
    int tried = 0;
    for (const Function& function : functions_of(row.name)) {
      if (!function.takes(row.changes)) continue;
      SCOPED_TRACE(function.name() + ", row " + std::to_string(i));
      aclnnStatus code = 161002;
      if (row.kind == Kind::shape) code = function.shape_code;
      if (row.kind == Kind::attribute) code = function.attribute_code;
      expect_refused(Call(function, row.changes), code, row.text);
      ++tried;
    }
    EXPECT_GT(tried, 0) << row.name << ", row " << i;
  }
}
template <size_t count>
void expect_refusals(const Refusal (&rows)[count]) {
  expect_refusals(rows, count);
}

using Refusals = OnDevice;

}  // namespace npu_quant::testing
