#include "ops/split/parameter.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "views.h"

namespace npu_quant::testing {
namespace {

// Its address may be of a value inside.
static_assert(!std::is_copy_constructible_v<Parameter> && !std::is_move_constructible_v<Parameter>);
static_assert(!std::is_copy_assignable_v<Parameter> && !std::is_move_assignable_v<Parameter>);

uint32_t bits_at(const Parameter& parameter, int64_t i) {
  uint32_t bits;
  std::memcpy(&bits, parameter.data() + i * 4, sizeof bits);
  return bits;
}

// What is absent adds nothing, not even to a -0.
TEST(Parameter, OfAnAbsentViewIsNegativeZero) {
  for (const int64_t count : {1, 5, 1000}) {
    Parameter parameter;
    ASSERT_TRUE(parameter.assign("op", TensorView{}, count).ok());
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(bits_at(parameter, i), 0x80000000U);
  }
}

TEST(Parameter, OfAnAbsentViewOfSeveralAxesIsNegativeZero) {
  const int64_t strides[] = {0, 0, 0};
  Parameter parameter;
  ASSERT_TRUE(parameter.assign("op", TensorView{}, Shape{3, {2, 1, 3}}, strides).ok());
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(bits_at(parameter, i), 0x80000000U);
}

TEST(Parameter, OfAViewHasItsBits) {
  std::vector<float> values{-0.0f, 0.0f, 1.5f, -INFINITY};
  Parameter parameter;
  ASSERT_TRUE(parameter.assign("op", view(values, {4}), 4).ok());
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(bits_at(parameter, i), bits_of(values[static_cast<size_t>(i)]));
}

}  // namespace
}  // namespace npu_quant::testing
