// npu_dynamic_block_quant as a C++ caller sees it: the contract, without Python.
#include "ops/dynamic_block_quant.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

TEST(DynamicBlockQuant, RaggedLastBlock) {
  std::vector<float> x(2 * 130, 1.0f);
  x[0] = 127;   // block 0 of row 0
  x[129] = -2;  // block 1 of row 0: two elements
  std::vector<int8_t> y(x.size());
  std::vector<float> scale(4);
  DynamicBlockQuant op;
  op.x = view(x, {2, 130});
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[DynamicBlockQuant::kScale].shape, (Shape{2, {2, 2}}));
  const TensorView out[] = {view(y, {2, 130}), view(scale, {2, 2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(scale, (std::vector<float>{1, 2.0f / 127, 1.0f / 127, 1.0f / 127}));
  EXPECT_EQ(y[0], 127);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[128], 64);  // 63.5, a tie: to even
  EXPECT_EQ(y[129], -127);
}

TEST(DynamicBlockQuant, MinScaleBoundsTheScaleAndSaturates) {
  std::vector<float> x = {1, -1, 0.25f, 0};
  std::vector<int8_t> y(4);
  std::vector<float> scale(1);
  DynamicBlockQuant op;
  op.x = view(x, {1, 4});
  op.min_scale = 200;
  ASSERT_TRUE(op.check().ok());
  const TensorView out[] = {view(y, {1, 4}), view(scale, {1, 1})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(scale[0], 1.0f / 200);
  EXPECT_EQ(y, (std::vector<int8_t>{127, -128, 50, 0}));
}

TEST(DynamicBlockQuant, FaultsSayOfWhatKindTheyAre) {
  std::vector<float> x(16);
  DynamicBlockQuant op;
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.x = view(x, {1, 1, 4, 4});
  EXPECT_EQ(op.check().fault(), Fault::rank);
  op.x = view(x, {4, 4});
  op.min_scale = -1;
  EXPECT_EQ(op.check().fault(), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
