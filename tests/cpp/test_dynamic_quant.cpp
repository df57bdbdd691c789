// npu_dynamic_quant as a C++ caller sees it: the contract, without Python.
#include "ops/dynamic_quant.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

TEST(DynamicQuant, HandVector) {
  std::vector<float> x = {0, 1, -2, 4, 3, -1.5f, 0.75f, -3};
  std::vector<int8_t> y(8);
  std::vector<float> scale(2);
  DynamicQuant op;
  op.input = view(x, {2, 4});
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[DynamicQuant::kY].shape, (Shape{2, {2, 4}}));
  EXPECT_EQ(op.outputs[DynamicQuant::kScale].shape, (Shape{1, {2}}));
  const TensorView out[] = {view(y, {2, 4}), view(scale, {2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(y, (std::vector<int8_t>{0, 32, -64, 127, 127, -64, 32, -127}));
  EXPECT_EQ(bits_of(scale[0]), 0x3d010204U);
}

TEST(DynamicQuant, ScaleAloneOrCodesAlone) {
  std::vector<float> x = {0, 1, -2, 4};
  std::vector<int8_t> y(4);
  std::vector<float> scale(1);
  DynamicQuant op;
  op.input = view(x, {1, 4});
  ASSERT_TRUE(op.check().ok());
  const TensorView only_scale[] = {TensorView{}, view(scale, {1})};
  ASSERT_TRUE(op.run(only_scale).ok());
  EXPECT_EQ(bits_of(scale[0]), 0x3d010204U);
  const TensorView only_y[] = {view(y, {1, 4}), TensorView{}};
  ASSERT_TRUE(op.run(only_y).ok());
  EXPECT_EQ(y, (std::vector<int8_t>{0, 32, -64, 127}));
}

TEST(DynamicQuant, FaultsSayOfWhatKindTheyAre) {
  std::vector<float> x(4);
  DynamicQuant op;
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.input = view(x, {4});
  EXPECT_EQ(op.check().fault(), Fault::rank);
  op.input = view(x, {1, 4});
  op.input.dtype = DType::int32;
  EXPECT_EQ(op.check().fault(), Fault::dtype);
}

TEST(DynamicQuant, RefusesOutputsThatOverlap) {
  std::vector<float> x(4), scale(1);
  DynamicQuant op;
  op.input = view(x, {1, 4});
  ASSERT_TRUE(op.check().ok());
  TensorView y = view(x, {1, 4});
  y.dtype = DType::int8;
  y.strides[1] = 1;
  const TensorView out[] = {y, view(scale, {1})};
  EXPECT_EQ(op.check_outputs(out).fault(), Fault::overlap);
}

}  // namespace
}  // namespace npu_quant::testing
