// The fake quantizers as a C++ caller sees them: the contracts, without Python.
#include "ops/fake_quantize.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Form = FakeQuantize::Form;

TEST(FakeQuantize, QuantizesAndComesBack) {
  Values x = {0.25f, 0.05f, 0.15f, 12.75f, INFINITY, NAN};
  FakeQuantize op("fake_quantize", Form::numbers, true);
  op.self = view(x, {6});
  op.scale_number = 0.1;
  op.quant_min = -128, op.quant_max = 127;
  expect_results(op, {{{6}, {0.2f, 0, 0.2f, 12.7f, 12.7f, -12.8f}}, {{6}, {1, 1, 1, 0, 0, 0}}});
}

TEST(FakeQuantize, SwitchedOffCopies) {
  Values x = {0.3f, 1e9f}, scale = {1}, off = {0.5f};
  std::vector<int32_t> zero_point = {3};
  FakeQuantize op("fake_quantize", Form::arrays, true);
  op.self = view(x, {2}), op.scale = view(scale, {1}), op.zero_point = view(zero_point, {1});
  op.has_switch = true;
  op.fake_quant_enabled = view(off, {1});
  expect_results(op, {{{2}, x}, {{2}, {1, 1}}});
}

TEST(FakeQuantize, BackwardMultiplies) {
  Values grad = {1, 2, -3};
  std::vector<uint8_t> mask = {1, 0, 0};
  FakeQuantizeBackward op("backward");
  op.grad = view(grad, {3}), op.mask = view(mask.data(), DType::boolean, shape_of({3}));
  expect_results(op, {{{3}, {1, 0, 0}}});
  EXPECT_TRUE(std::signbit(results_of(op, FE_TONEAREST)[0][2]));
}

TEST(FakeQuantize, FaultsHaveKinds) {
  Values x(6), scale(2);
  std::vector<int32_t> zero_point(2);
  FakeQuantize good("fake_quantize", Form::per_channel, false);
  good.self = view(x, {2, 3}), good.scale = view(scale, {2});
  good.zero_point = view(zero_point, {2});
  EXPECT_EQ(fault_of(good, [](auto&) {}), Fault::none);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.self = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.scale.dtype = DType::int8; }), Fault::dtype);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.axis = 1; }), Fault::shape);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.quant_min = 1; }), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
