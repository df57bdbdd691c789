// What the tests of parameters share: arguments that are changed, and the results by hand.
#pragma once

#include "../reference.h"
#include "functions.h"

namespace npu_quant::testing {

// It counts for all versions of a function that have what it changes.
struct Vector {
  const char* family;
  Parameters changes;
};

using Values = OnDevice;

template <size_t count>
void expect_values(aclrtStream stream, const Vector (&rows)[count]) {
  for (const Vector& row : rows) {
    int tried = 0;
    for (const Function& function : functions_of(row.family)) {
      if (!function.takes(row.changes)) continue;
      SCOPED_TRACE(function.name() + ", row " + std::to_string(&row - rows));
      on_every_target([&] {
        SCOPED_TRACE(name_of(active_target()));
        const Call call(function, row.changes);
        EXPECT_EQ(run(stream, function.phase2, call), 0);
        call.expect_results();
      });
      ++tried;
    }
    EXPECT_GT(tried, 0) << row.family << ", row " << &row - rows;
  }
}

}  // namespace npu_quant::testing
