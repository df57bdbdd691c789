// The fake quantizers as a C++ caller sees them: the contracts, without Python.
#include "ops/fake_quantize.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

using Form = FakeQuantize::Form;
using Flags = std::vector<uint8_t>;  // std::vector<bool> has no addresses

TensorView mask_view(Flags& mask) {
  TensorView v = view(mask, {static_cast<int64_t>(mask.size())});
  v.dtype = DType::boolean;
  return v;
}

TEST(FakeQuantize, QuantizesAndComesBack) {
  std::vector<float> x = {0.25f, 0.05f, 0.15f, 12.75f, INFINITY, NAN}, output(6);
  Flags mask(6);
  FakeQuantize op("fake_quantize", Form::numbers, true);
  op.self = view(x, {6});
  op.scale_number = 0.1;
  op.quant_min = -128;
  op.quant_max = 127;
  ASSERT_TRUE(op.check().ok());
  const TensorView out[] = {view(output, {6}), mask_view(mask)};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(output, (std::vector<float>{0.2f, 0, 0.2f, 12.7f, 12.7f, -12.8f}));
  EXPECT_EQ(mask, (Flags{1, 1, 1, 0, 0, 0}));
}

TEST(FakeQuantize, SwitchedOffCopies) {
  std::vector<float> x = {0.3f, 1e9f}, scale = {1}, off = {0.5f}, output(2);
  std::vector<int32_t> zero_point = {3};
  Flags mask(2);
  FakeQuantize op("fake_quantize", Form::arrays, true);
  op.self = view(x, {2});
  op.scale = view(scale, {1});
  op.zero_point = view(zero_point, {1});
  op.has_switch = true;
  op.fake_quant_enabled = view(off, {1});
  ASSERT_TRUE(op.check().ok());
  const TensorView out[] = {view(output, {2}), mask_view(mask)};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(output, x);
  EXPECT_EQ(mask, (Flags{1, 1}));
}

TEST(FakeQuantize, BackwardMultiplies) {
  std::vector<float> grad = {1, 2, -3}, result(3);
  Flags mask = {1, 0, 0};
  FakeQuantizeBackward op("backward");
  op.grad = view(grad, {3});
  op.mask = mask_view(mask);
  ASSERT_TRUE(op.check().ok());
  const TensorView out = view(result, {3});
  ASSERT_TRUE(op.run(&out).ok());
  EXPECT_EQ(result, (std::vector<float>{1, 0, 0}));
  EXPECT_TRUE(std::signbit(result[2]));
}

TEST(FakeQuantize, FaultsSayOfWhatKindTheyAre) {
  std::vector<float> x(6), scale(2);
  std::vector<int32_t> zero_point(2);
  FakeQuantize op("fake_quantize", Form::per_channel, false);
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.self = view(x, {2, 3});
  op.scale = view(scale, {2});
  op.zero_point = view(zero_point, {2});
  EXPECT_TRUE(op.check().ok());
  op.axis = 1;
  EXPECT_EQ(op.check().fault(), Fault::shape);
  op.axis = 0;
  op.quant_min = 1;
  EXPECT_EQ(op.check().fault(), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
