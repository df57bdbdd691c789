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

TEST(DynamicQuant, ColumnsWithOffsets) {
  std::vector<float> x = {1, 2, -4, 0.5f, 2, -0.0f}, scale(2), offset(2);
  std::vector<int8_t> y(6);
  DynamicQuantAsymmetric op;
  op.input = view(x, {3, 2});
  op.quant_mode = "perchannel";
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.outputs[DynamicQuant::kOffset].shape, (Shape{1, {2}}));
  const TensorView out[] = {view(y, {3, 2}), view(scale, {2}), view(offset, {2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(y, (std::vector<int8_t>{84, 127, -128, -64, 127, -128}));
  EXPECT_EQ(bits_of(scale[0]), 0x3cc0c0c1U);
  EXPECT_EQ(bits_of(scale[1]), 0x3c008081U);
  EXPECT_EQ(offset[0], 42);
  EXPECT_EQ(bits_of(offset[1]), 0xc2fffffeU);
  const TensorView only_offset[] = {TensorView{}, TensorView{}, view(scale, {2})};
  ASSERT_TRUE(op.run(only_offset).ok());
  EXPECT_EQ(scale, offset);
}

// The ends of experts' rows: in the C API nobody judges them, and nothing out of bounds is read.
TEST(DynamicQuant, AnyEndsOfGroups) {
  std::vector<float> x = {1, 1, 1}, smooth = {1, 2, 3}, scale(3);
  const auto scales = [&](std::vector<int32_t> ends) {
    DynamicQuant op;
    op.input = view(x, {3, 1});
    op.smooth_scales = view(smooth, {3, 1});
    op.group_index = view(ends, {3});
    EXPECT_TRUE(op.check().ok());
    const TensorView out[] = {TensorView{}, view(scale, {3})};
    EXPECT_TRUE(op.run(out).ok());
    std::vector<float> experts;
    for (const float s : scale) experts.push_back(s * 127 - 1);
    return experts;
  };
  EXPECT_EQ(scales({1, 1, 3}), (std::vector<float>{0, 2, 2}));
  EXPECT_EQ(scales({1, 2, -7}), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(scales({0, 0, 0}), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(scales({2, 1, 3}), (std::vector<float>{0, 0, 2}));
  EXPECT_EQ(scales({INT32_MIN, INT32_MAX, 5}), (std::vector<float>{1, 1, 1}));
}

TEST(DynamicQuant, ElementsOfGroupsAreJudgedApart) {
  std::vector<float> x(3), smooth(2);
  std::vector<int32_t> ends = {2, 3};
  DynamicQuant op;
  op.input = view(x, {3, 1});
  op.smooth_scales = view(smooth, {2, 1});
  op.group_index = view(ends, {2});
  ASSERT_TRUE(op.check().ok());
  EXPECT_TRUE(op.check_elements().ok());
  ends = {2, 1};
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.check_elements().fault(), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
