// npu_anti_mx_quant as a C++ caller sees it: the contract, without Python.
#include "ops/anti_mx_quant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "views.h"

namespace npu_quant::testing {
namespace {

DTypeRequest requested(Format format) { return {.is_default = false, .format = format}; }

TEST(AntiMxQuant, CodesOfFourBits) {
  std::vector<uint8_t> x = {0x21, 0xF7}, scales = {126, 9};
  std::vector<float> y(4);
  AntiMxQuant op;
  op.x = view(x, {2});
  op.mxscale = view(scales, {1, 2});
  op.dst_type = requested(Format::float32);
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[AntiMxQuant::kY].shape, (Shape{1, {4}}));
  const TensorView out[] = {view(y, {4})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(y, (std::vector<float>{0.25f, 0.5f, 3, -3}));
}

TEST(AntiMxQuant, BlocksAlongAnotherAxis) {
  std::vector<uint8_t> x(33, 0x42), scales = {127, 255, 0, 130};
  std::vector<float> y(66);
  AntiMxQuant op;
  op.x = view(x, {33, 1});
  op.mxscale = view(scales, {1, 2, 2});
  op.axis = 0;
  op.dst_type = requested(Format::float32);
  op.src_type = requested(Format::float4_e1m2);
  ASSERT_TRUE(op.check().ok());
  const TensorView out[] = {view(y, {33, 2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(y[0], 0.5f);
  EXPECT_EQ(y[63], 0x1p-127f);
  EXPECT_TRUE(std::isnan(y[64]));
  EXPECT_EQ(y[65], 8);
}

TEST(AntiMxQuant, FaultsSayOfWhatKindTheyAre) {
  std::vector<uint8_t> x(16), scales(2);
  AntiMxQuant op;
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.x = view(x, {16});
  op.mxscale = view(scales, {2});
  EXPECT_EQ(op.check().fault(), Fault::rank);
  op.mxscale = view(scales, {2, 1});
  EXPECT_EQ(op.check().fault(), Fault::shape);
  op.axis = 1;
  EXPECT_EQ(op.check().fault(), Fault::attribute);
  op.dst_type = requested(Format::int8);
  op.axis = 0;
  EXPECT_EQ(op.check().fault(), Fault::unavailable);
}

}  // namespace
}  // namespace npu_quant::testing
