// simd/result_stream.h on every target: rows at every alignment, of lengths around those of
// vectors, pieces and halves, next to each other and with gaps. What lies around them stays as it
// was.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/dispatch.h"
#include "result_stream_kernel.h"

namespace npu_quant::testing {
namespace {

constexpr int64_t kAround = 192;
constexpr char kUntouched = 0x55;

void check_streamed(Target target, int64_t offset, int64_t rows, int64_t n, int64_t gap,
                    int64_t part) {
  const int64_t stride = n + gap;
  std::vector<char> from(static_cast<size_t>(rows * n));
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + i / 251);
  std::vector<char> memory(static_cast<size_t>(rows * stride + 2 * kAround), kUntouched);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  const auto first = static_cast<int64_t>(-address % 64) + 64 + offset;
  std::vector<char> expected = memory;
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(from.begin() + row * n, n, expected.begin() + first + row * stride);
  run_on<StreamingKernel>(target, {rows, n, part, from.data(), {memory.data() + first, stride, 1}});
  EXPECT_TRUE(memory == expected) << name_of(target) << ": " << rows << " rows of " << n << " and "
                                  << gap << " at " << offset << ", " << part << " at a time";
}

TEST(ResultStream, WritesWhatCameAndNothingElse) {
  for (const Target target : kAllTargets) {
    if (!is_runnable(target)) continue;
    for (int64_t offset = 0; offset < 64; ++offset)
      for (const int64_t n : {1, 15, 63, 64, 65, 128, 960, 1023, 1024, 1025, 1088, 2047, 3200})
        for (const int64_t gap : {0, 1, 64}) check_streamed(target, offset, 3, n, gap, n);
  }
}

TEST(ResultStream, TakesRowsInParts) {
  for (const Target target : kAllTargets) {
    if (!is_runnable(target)) continue;
    for (const int64_t offset : {0, 1, 16, 32, 63})
      for (const int64_t part : {1, 32, 64, 128, 200, 2048})
        for (const int64_t gap : {0, 16}) check_streamed(target, offset, 2, 5000, gap, part);
  }
}

}  // namespace
}  // namespace npu_quant::testing
