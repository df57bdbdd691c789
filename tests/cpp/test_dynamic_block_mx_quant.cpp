// npu_dynamic_block_mx_quant as a C++ caller sees it: the contract, without Python.
#include "ops/dynamic_block_mx_quant.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

TEST(DynamicBlockMxQuant, TilesInBothLayouts) {
  std::vector<float> x(33 * 34, 1.0f);
  x[32 * 34] = 64;
  std::vector<uint8_t> y(33 * 17), scale1(33 * 2), scale2(34 * 2);
  DynamicBlockMxQuant op;
  op.input = view(x, {33, 34});
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[DynamicBlockMxQuant::kY].shape, (Shape{2, {33, 17}}));
  EXPECT_EQ(op.outputs[DynamicBlockMxQuant::kScale1].shape, (Shape{3, {33, 1, 2}}));
  EXPECT_EQ(op.outputs[DynamicBlockMxQuant::kScale2].shape, (Shape{3, {1, 34, 2}}));
  const TensorView out[] = {view(y, {33, 17}), view(scale1, {33, 1, 2}), view(scale2, {1, 34, 2})};
  ASSERT_TRUE(op.run(out).ok());
  std::vector<uint8_t> rows(33 * 2, 125), columns(34 * 2, 125);
  rows[32 * 2] = 131;
  for (size_t c = 0; c < 32; ++c) columns[2 * c + 1] = 131;
  EXPECT_EQ(scale1, rows);
  EXPECT_EQ(scale2, columns);
  EXPECT_EQ(y[0], 0x66);             // 4 and 4
  EXPECT_EQ(y[32 * 17], 0x06);       // 4, and 1/16 is rounded to 0
  EXPECT_EQ(y[32 * 17 + 16], 0x66);  // another tile
  const TensorView only[] = {{}, view(scale1, {33, 1, 2}), {}};
  scale1.assign(scale1.size(), 9);
  ASSERT_TRUE(op.run(only).ok());
  EXPECT_EQ(scale1, rows);
}

TEST(DynamicBlockMxQuant, FaultsSayOfWhatKindTheyAre) {
  std::vector<float> x(16);
  DynamicBlockMxQuant op;
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.input = view(x, {1, 1, 4, 4});
  EXPECT_EQ(op.check().fault(), Fault::rank);
  op.input = view(x, {4, 4});
  op.scale_alg = 2, op.dst_type_max = 8;
  EXPECT_EQ(op.check().fault(), Fault::attribute);
  op.dst_type_max = 7;
  EXPECT_TRUE(op.check().ok());
  op.input = view(x, {16, 1});
  EXPECT_EQ(op.check().fault(), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
