// The engine of a golden comparison as a C++ caller sees it: a few numbers, in blocks and by
// threads.
#include "ops/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "views.h"

namespace npu_quant::testing {
namespace {

constexpr int64_t kPairs = kCodes * kCodes;
constexpr uint64_t kNone = CompareCounts::kNone;

template <class T>
TensorView written(std::vector<T>& values, DType dtype) {
  TensorView view = contiguous_view(values.data(), dtype, static_cast<int64_t>(values.size()));
  view.writable = true;
  return view;
}

// A call with everything it counts in.
struct Case {
  std::vector<int64_t> rows, columns;
  std::vector<char> is_nan = std::vector<char>(kCodes);
  std::vector<uint64_t> counts;
  std::vector<double> sums;
  Compare op;

  template <class T>
  Case(std::vector<T>& actual, std::vector<T>& golden, DType dtype, int64_t n_columns)
      : rows(actual.size() / static_cast<size_t>(n_columns) + 1),
        columns(static_cast<size_t>(n_columns)) {
    op.actual = contiguous_view(actual.data(), dtype, static_cast<int64_t>(actual.size()));
    op.golden = contiguous_view(golden.data(), dtype, static_cast<int64_t>(golden.size()));
    op.columns = n_columns;
    counts.assign(dtype == DType::uint8 ? 2 * kPairs : kCompareCounts, 0);
    if (dtype == DType::uint8)
      std::fill(counts.begin() + kPairs, counts.end(), kNone);
    else
      totals() = CompareCounts{};
    sums.assign(kCompareSums + kCompareExtremes, 0);
    *reinterpret_cast<CompareExtremes*>(&sums[kCompareSums]) = {};
    op.is_nan = contiguous_view(is_nan.data(), DType::boolean, kCodes);
    op.row_counts = written(rows, DType::int64);
    op.column_counts = written(columns, DType::int64);
    op.counts = written(counts, DType::uint64);
    op.sums = written(sums, DType::float64);
  }
  Case(const Case&) = delete;

  CompareCounts& totals() { return *reinterpret_cast<CompareCounts*>(counts.data()); }
  const CompareSums& of_finite() { return *reinterpret_cast<CompareSums*>(sums.data()); }
  const CompareExtremes& extremes() {
    return *reinterpret_cast<CompareExtremes*>(&sums[kCompareSums]);
  }
  bool run() { return op.check().ok() && op.run().ok(); }
};

TEST(Compare, CodesByHand) {
  on_every_target([] {
    std::vector<uint8_t> golden(1000, 7), actual = golden;
    actual[3] = actual[999] = 9;
    actual[500] = 255;
    Case call(actual, golden, DType::uint8, 100);
    ASSERT_TRUE(call.run());
    EXPECT_EQ(call.counts[7 * kCodes + 7], 997U);
    EXPECT_EQ(call.counts[9 * kCodes + 7], 2U);
    EXPECT_EQ(call.counts[255 * kCodes + 7], 1U);
    EXPECT_EQ(call.counts[kPairs + 9 * kCodes + 7], 3U);
    EXPECT_EQ(call.counts[kPairs + 255 * kCodes + 7], 500U);
    EXPECT_EQ(call.counts[kPairs + 7 * kCodes + 7], kNone);
    EXPECT_EQ(call.rows, (std::vector<int64_t>{1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}));
    EXPECT_EQ(call.columns[0] + call.columns[3] + call.columns[99], 3);
  });
}

TEST(Compare, TwoNaNAreNoDifference) {
  std::vector<uint8_t> golden(100, 0x7f), actual(100, 0xff);
  Case call(actual, golden, DType::uint8, 10);
  call.is_nan[0x7f] = call.is_nan[0xff] = 1;
  ASSERT_TRUE(call.run());
  EXPECT_EQ(call.counts[0xff * kCodes + 0x7f], 100U);
  EXPECT_EQ(call.rows, std::vector<int64_t>(11));
  Case twin(actual, golden, DType::uint8, 10);
  ASSERT_TRUE(twin.run());
  EXPECT_EQ(twin.rows[0], 10);
}

TEST(Compare, NumbersByHand) {
  on_every_target([] {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> golden{1, 2, 0, 4, 5, 6}, actual{1, -2, -0.0f, 4.5f, kNaN, 0};
    Case call(actual, golden, DType::float32, 3);
    ASSERT_TRUE(call.run());
    const CompareCounts& counts = call.totals();
    EXPECT_EQ(counts.mismatches, 5U);
    EXPECT_EQ(counts.first, 1U);
    EXPECT_EQ(counts.worst, 4U);
    EXPECT_EQ(counts.sign_flips, 1U);
    EXPECT_EQ(counts.rounded_to_zero, 1U);
    EXPECT_EQ(counts.zero_signs, 1U);
    EXPECT_EQ(counts.kinds[1][0], 1U);
    EXPECT_EQ(counts.steps_below[2], 2U);
    EXPECT_EQ(counts.steps_above[2], 1U);
    const CompareSums& sums = call.of_finite();
    EXPECT_EQ(sums.absolute, 4 + 0.5 + 6);
    EXPECT_EQ(sums.squares, 16 + 0.25 + 36);
    EXPECT_EQ(sums.difference, -4 + 0.5 - 6);
    EXPECT_EQ(sums.products, -4 + 18.0);
    EXPECT_EQ(sums.equal_squares, 1);
    EXPECT_EQ(call.extremes().max_abs, 6);
    EXPECT_EQ(call.extremes().actual_least, -2);
    EXPECT_EQ(call.extremes().golden_greatest, 6);
    EXPECT_EQ(call.rows, (std::vector<int64_t>{2, 3, 0}));
    EXPECT_EQ(call.columns, (std::vector<int64_t>{1, 2, 2}));
  });
}

// Blocks of whole chunks, and any number of threads, give the bits of one call.
TEST(Compare, SameBitsInBlocks) {
  std::vector<double> golden(40'000), actual;
  for (size_t i = 0; i < golden.size(); ++i) golden[i] = std::sin(static_cast<double>(i * i % 997));
  actual = golden;
  for (size_t i = 0; i < actual.size(); i += 3) actual[i] *= 1.01;
  Case whole(actual, golden, DType::float64, 100);
  ASSERT_TRUE(whole.run());
  const int threads = get_num_threads();
  on_every_target([&] {
    for (const int64_t block : {kCompareChunk, 3 * kCompareChunk, int64_t{40'000}}) {
      set_num_threads(static_cast<int>(block / kCompareChunk));
      Case parts(actual, golden, DType::float64, 100);
      for (int64_t first = 0; first < 40'000; first += block) {
        const int64_t count = std::min<int64_t>(block, 40'000 - first);
        parts.op.first = first;
        parts.op.actual =
            contiguous_view(&actual[static_cast<size_t>(first)], DType::float64, count);
        parts.op.golden =
            contiguous_view(&golden[static_cast<size_t>(first)], DType::float64, count);
        ASSERT_TRUE(parts.run());
      }
      EXPECT_EQ(parts.sums, whole.sums);
      EXPECT_EQ(parts.counts, whole.counts);
      EXPECT_EQ(parts.rows, whole.rows);
      EXPECT_EQ(parts.columns, whole.columns);
    }
  });
  set_num_threads(threads);
}

TEST(Compare, Nothing) {
  std::vector<float> none;
  Case call(none, none, DType::float32, 5);
  ASSERT_TRUE(call.run());
  EXPECT_EQ(call.totals().mismatches, 0U);
  EXPECT_EQ(call.totals().first, kNone);
}

}  // namespace
}  // namespace npu_quant::testing
