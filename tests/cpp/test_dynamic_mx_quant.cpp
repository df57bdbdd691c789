// npu_dynamic_mx_quant as a C++ caller sees it: the contract, without Python.
#include "ops/dynamic_mx_quant.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

DTypeRequest requested(Format format) { return {.is_default = false, .format = format}; }

TEST(DynamicMxQuant, RaggedLastBlock) {
  std::vector<float> x(2 * 34, 1.0f);
  x[0] = 448;  // block 0 of row 0
  x[33] = -8;  // block 1 of row 0: two elements
  std::vector<uint8_t> y(x.size() / 2), scales(4);
  DynamicMxQuant op;
  op.input = view(x, {2, 34});
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[DynamicMxQuant::kY].shape, (Shape{2, {2, 17}}));
  EXPECT_EQ(op.outputs[DynamicMxQuant::kMxScale].shape, (Shape{3, {2, 1, 2}}));
  const TensorView out[] = {view(y, {2, 17}), view(scales, {2, 1, 2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(scales, (std::vector<uint8_t>{133, 128, 125, 125}));
  EXPECT_EQ(y[0], 0x07);   // 7 is rounded to 6, and 1/64 to 0
  EXPECT_EQ(y[16], 0xE1);  // 1/2 and -4
  EXPECT_EQ(y[17], 0x66);  // 4 and 4
}

TEST(DynamicMxQuant, PairsOfBlocksAlongAnotherAxis) {
  std::vector<float> x(33 * 2, 1.0f);
  x[2 * 32 + 1] = 64;
  std::vector<uint8_t> y(x.size() / 2), scales(4);
  DynamicMxQuant op;
  op.input = view(x, {33, 2});
  op.axis = 0;
  op.dst_type = requested(Format::float4_e1m2);
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[DynamicMxQuant::kMxScale].shape, (Shape{3, {1, 2, 2}}));
  const TensorView out[] = {view(y, {33, 1}), view(scales, {1, 2, 2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(scales, (std::vector<uint8_t>{127, 127, 127, 133}));
  EXPECT_EQ(y, std::vector<uint8_t>(33, 0x44));
}

TEST(DynamicMxQuantWithDualAxis, BlocksOfRowsAndOfColumns) {
  std::vector<float> x(33 * 2, 1.0f);
  x[2 * 32 + 1] = 64;
  std::vector<uint8_t> y1(33), scales1(33 * 2), y2(33), scales2(4);
  DynamicMxQuantWithDualAxis op;
  op.input = view(x, {33, 2});
  op.dst_type = requested(Format::float4_e1m2);
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[DynamicMxQuantWithDualAxis::kMxScale1].shape, (Shape{3, {33, 1, 2}}));
  EXPECT_EQ(op.outputs[DynamicMxQuantWithDualAxis::kMxScale2].shape, (Shape{3, {1, 2, 2}}));
  const TensorView out[] = {view(y1, {33, 1}), view(scales1, {33, 1, 2}), view(y2, {33, 1}),
                            view(scales2, {1, 2, 2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(scales1[0], 127);
  EXPECT_EQ(scales1[2 * 32], 133);
  EXPECT_EQ(y1[32], 0x40);  // 1/64 is rounded to 0
  EXPECT_EQ(scales2, (std::vector<uint8_t>{127, 127, 127, 133}));
  EXPECT_EQ(y2, std::vector<uint8_t>(33, 0x44));
  op.input = view(x, {66});
  EXPECT_EQ(op.check().fault(), Fault::rank);
}

TEST(DynamicMxQuant, FaultsSayOfWhatKindTheyAre) {
  std::vector<float> x(16);
  DynamicMxQuant op;
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.input = view(x, {1, 1, 1, 1, 1, 1, 4, 4});
  EXPECT_EQ(op.check().fault(), Fault::rank);
  op.input = view(x, {4, 4});
  op.block_size = 33;
  EXPECT_EQ(op.check().fault(), Fault::attribute);
  op.block_size = 32;
  op.dst_type = requested(Format::int8);
  EXPECT_EQ(op.check().fault(), Fault::unavailable);
  op.dst_type = {};
  op.input = view(x, {16, 1});
  EXPECT_EQ(op.check().fault(), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
