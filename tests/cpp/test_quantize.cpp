// npu_quantize as a C++ caller sees it: the contract, without Python.
#include "ops/quantize.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

TEST(Quantize, AddsTheZeroPointBeforeRounding) {
  std::vector<float> x = {0.5f, 1.5f, -0.5f, NAN, INFINITY, -INFINITY};
  std::vector<float> scales = {1}, zero_points = {1};
  std::vector<int8_t> y(6);
  Quantize op;
  op.self = view(x, {6});
  op.scales = view(scales, {1});
  op.zero_points = view(zero_points, {1});
  op.dtype = requested(DType::int8);
  ASSERT_TRUE(op.check().ok());
  const TensorView out = view(y, {6});
  ASSERT_TRUE(op.run(&out).ok());
  EXPECT_EQ(y, (std::vector<int8_t>{2, 2, 0, 0, 127, -128}));
}

TEST(Quantize, TakesAChannelAlongAnyAxis) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  std::vector<float> scales = {1, 0.5f};
  std::vector<int32_t> y(6);
  Quantize op;
  op.self = view(x, {2, 3});
  op.scales = view(scales, {2});
  op.dtype = requested(DType::int32);
  op.axis = -2;
  ASSERT_TRUE(op.check().ok());
  const TensorView out = view(y, {2, 3});
  ASSERT_TRUE(op.run(&out).ok());
  EXPECT_EQ(y, (std::vector<int32_t>{1, 2, 3, 8, 10, 12}));
}

TEST(Quantize, FaultsSayOfWhatKindTheyAre) {
  std::vector<float> x(6);
  Quantize op;
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.self = view(x, {2, 3});
  op.scales = view(x, {2});
  op.dtype = requested(DType::int8);
  EXPECT_EQ(op.check().fault(), Fault::shape);  // axis 1 has 3
  op.axis = 0;
  EXPECT_TRUE(op.check().ok());
}

}  // namespace
}  // namespace npu_quant::testing
