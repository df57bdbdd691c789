// npu_dynamic_quant, with and without offsets, as a C++ caller sees it: the contract.
#include "ops/dynamic_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(DynamicQuant, ByHand) {
  Values x = {0, 1, -2, 4, 3, -1.5f, 0.75f, -3};
  DynamicQuant op;
  op.input = view(x, {2, 4});
  expect_results(op, {{{2, 4}, {0, 32, -64, 127, 127, -64, 32, -127}},
                      {{2}, {float_from_bits(0x3d010204), 3.0f / 127}}});
}

TEST(DynamicQuant, ColumnsWithOffsets) {
  Values x = {1, 2, -4, 0.5f, 2, -0.0f};
  DynamicQuantAsymmetric op;
  op.input = view(x, {3, 2});
  op.quant_mode = "perchannel";
  expect_results(op, {{{3, 2}, {84, 127, -128, -64, 127, -128}},
                      {{2}, {float_from_bits(0x3cc0c0c1), float_from_bits(0x3c008081)}},
                      {{2}, {42, float_from_bits(0xc2fffffe)}}});
}

// The ends of experts' rows: in the C API nobody judges them, and nothing out of bounds is read.
TEST(DynamicQuant, AnyEndsOfGroups) {
  Values x = {1, 1, 1}, smooth = {1, 2, 3};
  const auto experts = [&](std::vector<int32_t> ends) {
    DynamicQuant op;
    op.input = view(x, {3, 1}), op.smooth_scales = view(smooth, {3, 1});
    op.group_index = view(ends, {3});
    EXPECT_TRUE(op.check().ok());
    Values found = results_of(op, FE_TONEAREST)[1];
    for (float& scale : found) scale = scale * 127 - 1;
    return found;
  };
  EXPECT_EQ(experts({1, 1, 3}), (Values{0, 2, 2}));
  EXPECT_EQ(experts({1, 2, -7}), (Values{0, 1, 2}));
  EXPECT_EQ(experts({0, 0, 0}), (Values{2, 2, 2}));
  EXPECT_EQ(experts({2, 1, 3}), (Values{0, 0, 2}));
  EXPECT_EQ(experts({INT32_MIN, INT32_MAX, 5}), (Values{1, 1, 1}));
}

TEST(DynamicQuant, ElementsOfGroupsAreJudgedApart) {
  Values x(3), smooth(2);
  std::vector<int32_t> ends = {2, 3};
  DynamicQuant op;
  op.input = view(x, {3, 1}), op.smooth_scales = view(smooth, {2, 1});
  op.group_index = view(ends, {2});
  ASSERT_TRUE(op.check().ok());
  EXPECT_TRUE(op.check_elements().ok());
  ends = {2, 1};
  ASSERT_TRUE(op.check().ok());
  EXPECT_EQ(op.check_elements().fault(), Fault::attribute);
}

TEST(DynamicQuant, FaultsHaveKinds) {
  Values x(4), scale(1);
  DynamicQuant good;
  good.input = view(x, {1, 4});
  EXPECT_EQ(fault_of(good, [](auto& op) { op.input = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.input.dtype = DType::int32; }), Fault::dtype);
  EXPECT_EQ(fault_of(good, [&](auto& op) { op.input = view(x, {4}); }), Fault::rank);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.quant_mode = "perrow"; }), Fault::attribute);
  ASSERT_TRUE(good.check().ok());
  const TensorView out[] = {view(x.data(), DType::int8, shape_of({1, 4})), view(scale, {1})};
  EXPECT_EQ(good.check_outputs(out).fault(), Fault::overlap);
}

}  // namespace
}  // namespace npu_quant::testing
