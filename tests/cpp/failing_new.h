// Memory that runs out where a test says so: at any of the requests that a call makes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <vector>

namespace npu_quant::testing {

// While one lives, operator new refuses request `first`, counted from 0 over all threads, or that
// and all after it.
class FailingNew {
 public:
  FailingNew(int64_t first, bool goes_on);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;

  bool has_failed() const;
};

using Buffers = std::vector<std::vector<char>>;

// Has each request of run() fail, one at a time and all from one on: it returns whether it went
// well, and `results` are then what they are with all memory, else what they were. Returns how many
// requests there are.
template <class Run>
int64_t expect_all_or_nothing(Buffers& results, Run run) {
  const Buffers before = results;
  EXPECT_TRUE(run());
  const Buffers expected = results;
  int64_t requests = 0;
  for (const bool goes_on : {false, true})
    for (int64_t first = 0;; ++first) {
      results = before;
      bool is_ok = false, has_failed = false;
      {
        const FailingNew failing(first, goes_on);
        try {
          is_ok = run();
        } catch (const std::bad_alloc&) {
        }
        has_failed = failing.has_failed();
      }
      EXPECT_TRUE(results == (is_ok ? expected : before)) << first << ", " << is_ok;
      EXPECT_TRUE(is_ok || has_failed);
      requests = first;
      if (!has_failed) break;
    }
  return requests;
}

}  // namespace npu_quant::testing
