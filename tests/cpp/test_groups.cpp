// Groups of rows as lists say them: ends or counts, of 32 or 64 bits.
#include "ops/split/row_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "views.h"

namespace npu_quant::testing {
namespace {

using Holds = RowGroups::Holds;

template <class T>
Status assign(RowGroups& groups, std::vector<T> list, int64_t rows, Holds holds) {
  const DType dtype = sizeof(T) == 8 ? DType::int64 : DType::int32;
  return groups.assign("op", "list", view(list.data(), dtype, shape_of({std::ssize(list)})), "x",
                       rows, holds);
}

template <class T>
void expect_groups(const std::vector<T>& list, Holds holds) {
  RowGroups groups;
  ASSERT_TRUE(assign(groups, list, 8, holds).ok());
  ASSERT_EQ(groups.count(), 4);
  std::vector<int64_t> ends, of_rows;
  for (int64_t group = 0; group < 4; ++group) ends.push_back(groups.end_of(group));
  for (int64_t row = 0; row < 8; ++row) of_rows.push_back(groups.group_of(row));
  EXPECT_EQ(ends, (std::vector<int64_t>{3, 3, 7, 8}));
  EXPECT_EQ(of_rows, (std::vector<int64_t>{0, 0, 0, 2, 2, 2, 2, 3}));
}

TEST(RowGroups, AreTheSameOfEndsAndCounts) {
  expect_groups<int32_t>({3, 3, 7, 8}, Holds::ends);
  expect_groups<int64_t>({3, 3, 7, 8}, Holds::ends);
  expect_groups<int32_t>({3, 0, 4, 1}, Holds::counts);
  expect_groups<int64_t>({3, 0, 4, 1}, Holds::counts);
}

TEST(RowGroups, MayBeMany) {
  std::vector<int64_t> counts(1000, 2);
  RowGroups groups;
  ASSERT_TRUE(assign(groups, counts, 2000, Holds::counts).ok());
  for (const int64_t row : {0, 1, 2, 1001, 1999}) EXPECT_EQ(groups.group_of(row), row / 2);
}

template <class T>
void expect_fault(std::vector<T> list, Holds holds, const std::string& words) {
  RowGroups groups;
  const Status status = assign(groups, list, 8, holds);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(message_of(status).find(words), std::string::npos) << message_of(status);
}

TEST(RowGroups, AreJudged) {
  expect_fault<int32_t>({3, 2, 8}, Holds::ends, "list[1] is 2, expected at least 3");
  expect_fault<int32_t>({-1, 8}, Holds::ends, "list[0] is -1, expected at least 0");
  expect_fault<int64_t>({3, 9}, Holds::ends, "list[1] is 9, expected 8, the number of rows");
  expect_fault<int32_t>({3, -1, 6}, Holds::counts, "list[1] is -1, expected 0 to 5");
  expect_fault<int64_t>({3, 6}, Holds::counts, "list[1] is 6, expected 0 to 5");
  expect_fault<int64_t>({3, INT64_MAX}, Holds::counts, "expected 0 to 5");
  expect_fault<int64_t>({3, 2, 2}, Holds::counts, "list[2] is 2, expected 3, the rows of x");
}

TEST(RowGroups, OfAnyEndsNeverFallAndTheLastHasTheRest) {
  std::vector<int32_t> ends{3, -5, 7, 2};
  RowGroups groups;
  ASSERT_TRUE(groups.assign_any("op", view(ends, {4})).ok());
  std::vector<int64_t> of_rows;
  for (const int64_t row : {0, 2, 3, 6, 7, 100}) of_rows.push_back(groups.group_of(row));
  EXPECT_EQ(of_rows, (std::vector<int64_t>{0, 0, 2, 2, 3, 3}));
}

}  // namespace
}  // namespace npu_quant::testing
