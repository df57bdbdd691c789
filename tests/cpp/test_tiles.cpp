#include "ops/split/tiles.h"

#include <gtest/gtest.h>

#include <vector>

namespace npu_quant {
namespace {

char memory[1];  // what offsets are counted from: nothing is read

// Rows and columns of parts, and the offsets of their first elements in each tensor, as the
// segments [begin, end) are handed out `step` by `step`.
using Parts = std::vector<std::vector<int64_t>>;
template <int tensors>
Parts parts_of(const Tiles<tensors>& tiles, int64_t step) {
  char* data[tensors];
  for (char*& of : data) of = memory;
  Parts parts;
  for (int64_t begin = 0; begin < tiles.count(); begin += step) {
    const int64_t end = std::min(begin + step, tiles.count());
    tiles.for_each_part_of(begin, end, data, [&](const auto& part) {
      parts.push_back({part.rows, part.n});
      for (int t = 0; t < tensors; ++t) parts.back().push_back(part.at[t].data - memory);
    });
  }
  return parts;
}

TEST(Tiles, WhatFollowsInEveryTensorIsOneRow) {
  const Shape shape{3, {2, 3, 4}};
  const int64_t a[] = {96, 32, 8}, b[] = {12, 4, 1};
  EXPECT_EQ(parts_of(Tiles<2>(shape, {a, b}, {}), 1), (Parts{{1, 24, 0, 0}}));
  EXPECT_EQ(parts_of(Tiles<2>(shape, {a, b}, {.columns = 10}), 2),
            (Parts{{1, 20, 0, 0}, {1, 4, 160, 20}}));
}

TEST(Tiles, RowsThatAreGroupsAreNot) {
  const Shape shape{2, {3, 4}};
  const int64_t strides[] = {4, 1};
  const Tiles<1> tiles(shape, {strides}, {.group_columns = Cut::kAll});
  EXPECT_EQ(parts_of(tiles, 2), (Parts{{2, 4, 0}, {1, 4, 8}}));
}

TEST(Tiles, RowsOfSeveralAxesArePartsOfTheirInnermost) {
  const Shape shape{3, {2, 3, 4}};
  const int64_t strides[] = {1000, 100, 1};
  EXPECT_EQ(parts_of(Tiles<1>(shape, {strides}, {}), 4),
            (Parts{{3, 4, 0}, {1, 4, 1000}, {2, 4, 1100}}));
}

TEST(Tiles, NothingHasNoPartsButRowsThatAreGroups) {
  const Shape shape{2, {3, 0}};
  const int64_t strides[] = {4, 1};
  EXPECT_EQ(Tiles<1>(shape, {strides}, {}).count(), 0);
  EXPECT_EQ(parts_of(Tiles<1>(shape, {strides}, {.group_columns = Cut::kAll}), 3),
            (Parts{{3, 0, 0}}));
}

// Elements, and scales of blocks of 2 x 4 of them.
constexpr Cells<2> kBlocks{{{}, {.columns = 4, .of_groups = true}}};

TEST(Tiles, BlocksHaveTheirScales) {
  const Shape shape{2, {5, 10}};
  const int64_t x[] = {10, 1}, scales[] = {12, 4};
  const Cut cut{.group_rows = 2, .group_columns = 4, .columns = 4, .row_axis = 0};
  const Tiles<2> tiles(shape, {x, scales}, cut, kBlocks);
  EXPECT_EQ(parts_of(tiles, 2), (Parts{{2, 8, 0, 0},
                                       {2, 2, 8, 8},
                                       {2, 4, 20, 12},
                                       {2, 6, 24, 16},
                                       {1, 8, 40, 24},
                                       {1, 2, 48, 32}}));
  EXPECT_EQ(parts_of(tiles, 6), (Parts{{4, 10, 0, 0}, {1, 10, 40, 24}}));
}

TEST(Tiles, MatricesOfWholeBlocksThatFollowAreOne) {
  const int64_t x[] = {40, 10, 1}, scales[] = {24, 12, 4}, apart[] = {48, 12, 4};
  const Cut cut{.group_rows = 2, .group_columns = 4, .row_axis = 1};
  const Shape whole{3, {3, 4, 10}}, part{3, {3, 3, 10}};
  EXPECT_EQ(parts_of(Tiles<2>(whole, {x, scales}, cut, kBlocks), 6), (Parts{{12, 10, 0, 0}}));
  EXPECT_EQ(parts_of(Tiles<2>(whole, {x, apart}, cut, kBlocks), 6),
            (Parts{{4, 10, 0, 0}, {4, 10, 40, 48}, {4, 10, 80, 96}}));
  EXPECT_EQ(parts_of(Tiles<2>(part, {x, scales}, cut, kBlocks), 6),
            (Parts{{3, 10, 0, 0}, {3, 10, 40, 24}, {3, 10, 80, 48}}));
}

TEST(Tiles, AHeadIsBeforeTheFirstSegment) {
  const Shape shape{2, {4, 25}};
  const int64_t x[] = {25, 1};
  const Cut cut{.group_rows = 2, .columns = 10, .head = 3, .row_axis = 0};
  EXPECT_EQ(parts_of(Tiles<1>(shape, {x}, cut), 1),
            (Parts{{2, 13, 0}, {2, 10, 13}, {2, 2, 23}, {2, 13, 50}, {2, 10, 63}, {2, 2, 73}}));
}

TEST(Tiles, PartsOfManyLinesHaveFewElements) {
  const Shape shape{2, {8, 10}};
  const int64_t x[] = {10, 1};
  const Cut cut{.group_rows = 2, .elements = 45, .row_axis = 0};
  EXPECT_EQ(parts_of(Tiles<1>(shape, {x}, cut), 4), (Parts{{4, 10, 0}, {4, 10, 40}}));
}

TEST(Tiles, BlocksBeginAnewInEachGroupOfRows) {
  int32_t ends[] = {3, 3, 8};
  RowGroups groups;
  ASSERT_TRUE(groups.assign("op", "ends", contiguous_view(ends, DType::int32, 3), "x", 8).ok());
  const Shape shape{2, {8, 4}};
  const int64_t x[] = {4, 1}, scales[] = {4, 4};
  const Cut cut{.group_rows = 2, .group_columns = 4, .row_axis = 0, .row_groups = &groups};
  // Lines 0 and 1 are of 3 rows, 2 is of none, 3 to 5 are of 5 rows, and 6 is of none.
  EXPECT_EQ(parts_of(Tiles<2>(shape, {x, scales}, cut, kBlocks), 7),
            (Parts{{3, 4, 0, 0}, {0, 4, 12, 8}, {5, 4, 12, 12}, {0, 4, 32, 24}}));
}

TEST(Tiles, CodesOfAnElementAreNotCut) {
  const Shape shape{2, {3, 6}};
  const int64_t x[] = {6, 1}, codes[] = {3, 1};  // two in a byte
  EXPECT_EQ(parts_of(Tiles<2>(shape, {x, codes}, {.columns = 8}, {{{}, {.columns = 2}}}), 1),
            (Parts{{1, 8, 0, 0}, {1, 8, 8, 4}, {1, 2, 16, 8}}));
}

}  // namespace
}  // namespace npu_quant
