// npu_grouped_matmul as a C++ caller sees it: the contract, without Python.
#include "ops/grouped_matmul.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// Two groups of rows: [1, 2], [-3, 4] and [5, 6].
struct GroupedCall {
  std::vector<int8_t> x = {1, 2, -3, 4, 5, 6}, weight = {5, -6, 8, 9, 1, 2, 3, 4};
  std::vector<int64_t> ends = {2, 3};
  std::vector<float> scale = {1, 1, 1, 0.5f}, tokens = {1, 1, 2};
  GroupedMatmul op;

  GroupedCall() {
    op.x = view(x, {3, 2}), op.weight = view(weight, {2, 2, 2});
    op.group_list = view(ends.data(), DType::int64, shape_of({2}));
    op.group_type = 0, op.split_item = 3;
    op.output_dtype = requested(Format::int32);
  }
  void take_scales() {
    op.scale = view(scale, {2, 2}), op.per_token_scale = view(tokens, {3});
    op.output_dtype = requested(Format::float16);
  }
};

TEST(GroupedMatmul, RowsOfGroupsHaveWeightsOfTheirOwn) {
  GroupedCall call;
  expect_results(call.op, {{{3, 2}, {21, 12, 17, 54, 23, 34}}});
  call.take_scales();
  expect_results(call.op, {{{3, 2}, {21, 12, 17, 54, 46, 34}}});
}

TEST(GroupedMatmul, RowsBehindTheLastGroupAreZeros) {
  GroupedCall call;
  call.ends = {1, 1};
  expect_results(call.op, {{{3, 2}, {21, 12, 0, 0, 0, 0}}});
}

TEST(GroupedMatmul, EndsAreJudgedWhenTheyAreThere) {
  GroupedCall call;
  call.ends = {2, 4};
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.op.check_elements().fault(), Fault::attribute);
  std::vector<int32_t> y(6, 9);
  const TensorView out = view(y, {3, 2});
  EXPECT_EQ(call.op.run(&out).fault(), Fault::attribute);
  EXPECT_EQ(y, std::vector<int32_t>(6, 9));
}

TEST(GroupedMatmul, FaultsHaveKinds) {
  GroupedCall call;
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.weight.present = false; }), Fault::missing);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.weight.dtype = DType::float32; }), Fault::dtype);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x.rank = op.x.shape.rank = 1; }), Fault::rank);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.split_item = 4; }), Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.group_type = 1; }), Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.act_type = 1; }), Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.group_list.present = false; }), Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.group_list.shape.dims[0] = 1; }), Fault::shape);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.weight.shape.dims[1] = 1; }), Fault::shape);
  call.take_scales();
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.scale.present = false; }), Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.scale.dtype = DType::int64; }), Fault::dtype);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.scale.shape.dims[1] = 1; }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
