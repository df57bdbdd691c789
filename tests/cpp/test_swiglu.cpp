// Gated linear units as a C++ caller sees them: the contracts, without Python.
#include "ops/dequant_swiglu_quant.h"
#include "ops/swiglu.h"
#include "ops/swiglu_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// From 17.33 on 1 + exp(-a) is 1, and swish(a) is a.
struct GluArrays {
  Values x = {32, 64, 20, -1, 0, 20, 5, 3}, scale = {0.5f, 4}, offset = {1, -1};
  std::vector<int32_t> integers = {64, 128, 40, -2, 0, 40, 10, 6}, ends = {1}, bias = {0, 0, 2, 0};
  Values weight_scale = {0.5f, 0.5f, 0.5f, 0.5f}, activation_scale = {1, 2};
  std::vector<int64_t> counts = {1};
};

TEST(Swiglu, ByHand) {
  GluArrays a;
  Swiglu op;
  op.self = view(a.x, {2, 4});
  expect_results(op, {{{2, 2}, {640, -64, 0, 60}}});
  op.dim = 0;
  expect_results(op, {{{1, 4}, {0, 1280, 100, -0.26894143f * 3}}});
}

SwigluQuant good_quant(GluArrays& a) {
  SwigluQuant op;
  op.x = view(a.x, {2, 4});
  op.activate_left = true;
  return op;
}

TEST(Swiglu, QuantizedByHand) {
  GluArrays a;
  SwigluQuant given = good_quant(a);
  given.smooth_scales = view(a.scale, {1, 2}), given.offsets = view(a.offset, {1, 2});
  given.group_index = view(a.ends.data(), DType::int32, shape_of({1}));
  expect_results(given, {{{2, 2}, {127, -128, 0, 60}}, {{2}, {0, 0}}});
  SwigluQuant dynamic = good_quant(a);
  dynamic.quant_mode = 1;
  expect_results(dynamic, {{{2, 2}, {127, -13, 0, 127}}, {{2}, {127.f / 640, 127.f / 60}}});
  dynamic.dst_type = {.is_default = false, .format = Format::int4};
  expect_results(dynamic, {{{2, 1}, {-9, 112}}, {{2}, {7.f / 640, 7.f / 60}}});
}

DequantSwigluQuant good_dequant(GluArrays& a) {
  DequantSwigluQuant op;
  op.x = view(a.integers.data(), DType::int32, shape_of({2, 4}));
  op.weight_scale = view(a.weight_scale, {1, 4});
  op.bias = view(a.bias.data(), DType::int32, shape_of({1, 4}));
  op.activation_scale = view(a.activation_scale, {2});
  op.activate_left = true;
  return op;
}

TEST(Swiglu, DequantizedByHand) {
  GluArrays a;
  DequantSwigluQuant op = good_dequant(a);
  op.quant_scale = view(a.scale, {2}), op.quant_offset = view(a.offset, {2});
  expect_results(op, {{{2, 2}, {127, -17, 1, 59}}, {{2}, {0, 0}}});
  op.group_index = view(a.counts.data(), DType::int64, shape_of({1}));
  expect_results(op, {{{2, 2}, {127, -17, 0, 0}}, {{2}, {0, 0}}});
}

TEST(Swiglu, FaultsHaveKinds) {
  GluArrays a;
  const DequantSwigluQuant good = good_dequant(a);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.weight_scale = {}; }), Fault::dtype);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.x.dtype = DType::float16; }), Fault::attribute);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.round_mode = 1; }), Fault::attribute);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.bias.shape.dims[1] = 3; }), Fault::shape);
  const SwigluQuant other = good_quant(a);
  EXPECT_EQ(fault_of(other, [&](auto& op) { op.offsets = view(a.offset, {2}); }), Fault::attribute);
  EXPECT_EQ(fault_of(other, [](auto& op) { op.x.shape.dims[1] = 3; }), Fault::shape);
}

TEST(Swiglu, NoGroupEndsBehindTheRows) {
  GluArrays a;
  SwigluQuant op = good_quant(a);
  op.group_index = view(a.ends.data(), DType::int32, shape_of({1}));
  EXPECT_TRUE(op.check_elements().ok());
  a.ends[0] = 3;
  EXPECT_EQ(op.check_elements().fault(), Fault::attribute);
  op.group_list_type = 1, a.ends[0] = -1;
  EXPECT_EQ(op.check_elements().fault(), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
