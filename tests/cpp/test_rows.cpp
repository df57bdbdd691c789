#include "core/rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace npu_quant {
namespace {

// The offsets of every row, visited as [begin, end) runs of uneven length.
template <int tensors>
std::vector<std::vector<int64_t>> offsets_of(const Rows<tensors>& rows) {
  std::vector<std::vector<int64_t>> all;
  for (int64_t begin = 0, step = 1; begin < rows.count(); begin += step, ++step) {
    const int64_t end = begin + step < rows.count() ? begin + step : rows.count();
    rows.for_each_run(begin, end, [&](const int64_t(&offsets)[tensors], int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        std::vector<int64_t> row;
        for (int t = 0; t < tensors; ++t) row.push_back(offsets[t] + i * rows.inner_stride(t));
        all.push_back(row);
      }
    });
  }
  return all;
}

TEST(Rows, MergesWhatContinuesInEveryTensor) {
  const int64_t dims[] = {2, 3, 4}, a[] = {96, 32, 8}, b[] = {12, 4, 1};
  const Rows<2> rows(dims, 3, {a, b});
  EXPECT_EQ(rows.count(), 24);
  EXPECT_TRUE(rows.is_single_axis());
  EXPECT_EQ(rows.inner_stride(0), 8);
}

TEST(Rows, VisitsEveryRowInOrder) {
  const int64_t dims[] = {2, 1, 3, 4}, a[] = {1, 7, -100, 1000}, b[] = {0, 0, 5, 50};
  const Rows<2> rows(dims, 4, {a, b});
  EXPECT_FALSE(rows.is_single_axis());
  std::vector<std::vector<int64_t>> expected;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 3; ++k)
      for (int64_t l = 0; l < 4; ++l) expected.push_back({i - 100 * k + 1000 * l, 5 * k + 50 * l});
  EXPECT_EQ(offsets_of(rows), expected);
}

TEST(Rows, NoAxesIsOneRowAndAnEmptyAxisIsNone) {
  const Rows<1> one(nullptr, 0, {nullptr});
  EXPECT_EQ(one.count(), 1);
  EXPECT_EQ(offsets_of(one).size(), 1U);
  const int64_t dims[] = {3, 0}, strides[] = {1, 1};
  EXPECT_EQ((Rows<1>(dims, 2, {strides})).count(), 0);
}

}  // namespace
}  // namespace npu_quant
