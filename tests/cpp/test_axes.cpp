#include "core/axes.h"

#include <gtest/gtest.h>

#include <vector>

namespace npu_quant {
namespace {

template <int tensors>
std::vector<std::vector<int64_t>> offsets_of(const Axes<tensors>& axes) {
  std::vector<std::vector<int64_t>> all;
  for (int64_t index = 0; index < axes.count(); ++index) {
    int64_t offsets[tensors];
    axes.find_offsets(index, offsets);
    all.emplace_back(offsets, offsets + tensors);
  }
  return all;
}

TEST(Axes, MergeWhereTheyContinueInEveryTensor) {
  const int64_t dims[] = {2, 3, 4}, a[] = {96, 32, 8}, b[] = {12, 4, 1}, c[] = {12, 5, 1};
  Axes<2> axes(dims, 3, {a, b});
  int64_t dim = 0;
  EXPECT_EQ(axes.pop(dim), 0);
  EXPECT_EQ(dim, 24);
  EXPECT_EQ(axes.strides[0][0], 8);
  EXPECT_EQ(axes.pop(dim), -1);
  EXPECT_EQ((Axes<2>(dims, 3, {a, c})).rank, 3);
}

TEST(Axes, FindEveryElementInOrder) {
  const int64_t dims[] = {2, 1, 3, 4}, a[] = {1, 7, -100, 1000}, b[] = {0, 0, 5, 50};
  const Axes<2> axes(dims, 4, {a, b});
  EXPECT_EQ(axes.rank, 3);
  std::vector<std::vector<int64_t>> expected;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 3; ++k)
      for (int64_t l = 0; l < 4; ++l) expected.push_back({i - 100 * k + 1000 * l, 5 * k + 50 * l});
  EXPECT_EQ(offsets_of(axes), expected);
}

TEST(Axes, NoneAreOneElementAndAnEmptyOneIsNone) {
  const Axes<1> one(nullptr, 0, {nullptr});
  EXPECT_EQ(one.count(), 1);
  EXPECT_EQ(offsets_of(one).size(), 1U);
  const int64_t dims[] = {3, 0}, strides[] = {1, 1};
  EXPECT_EQ((Axes<1>(dims, 2, {strides})).count(), 0);
}

}  // namespace
}  // namespace npu_quant
