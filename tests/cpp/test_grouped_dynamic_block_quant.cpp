// npu_grouped_dynamic_block_quant as a C++ caller sees it: the contract, without Python.
#include "ops/grouped_dynamic_block_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// Rows 0 to 129 in two blocks, then one row, and two.
struct GroupedBlockCall {
  Values x = Values(133 * 2, 1);
  std::vector<int32_t> ends = {130, 131, 133};
  GroupedDynamicBlockQuant op;

  GroupedBlockCall() {
    x[2 * 129] = 2, x[2 * 130] = 4, x[2 * 132] = -8;
    op.x = view(x, {133, 2}), op.group_list = view(ends, {3});
    op.row_block_size = 128;
    EXPECT_TRUE(op.check().ok());
  }
  Values scales() { return results_of(op, FE_TONEAREST)[1]; }
};
constexpr float kBound = 1.0f / 57344;

TEST(GroupedDynamicBlockQuant, BlocksBeginAnewInEachGroup) {
  GroupedBlockCall call;
  EXPECT_EQ(call.op.outputs[0].dtype, DType::float8_e5m2);
  EXPECT_EQ(call.op.outputs[1].shape, (Shape{2, {4, 1}}));
  EXPECT_EQ(call.scales(), (Values{kBound, 2 * kBound, 4 * kBound, 8 * kBound}));
  call.op.min_scale = 57344;
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.scales(), Values(4, kBound));
}

TEST(GroupedDynamicBlockQuant, RowsOfNoBlockAreCleared) {
  GroupedBlockCall call;
  call.ends = {0, 128, 133};
  EXPECT_EQ(call.scales(), (Values{0, kBound, 0, 8 * kBound}));
}

TEST(GroupedDynamicBlockQuant, EndsAreJudgedWhenTheyAreThere) {
  GroupedBlockCall call;
  call.ends = {130, 129, 133};
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.op.check_elements().fault(), Fault::attribute);
  Values scales(4, 9);
  const TensorView out[] = {{}, view(scales, {4, 1})};
  EXPECT_EQ(call.op.run(out).fault(), Fault::attribute);
  EXPECT_EQ(scales, Values(4, 9));
}

TEST(GroupedDynamicBlockQuant, FaultsHaveKinds) {
  GroupedBlockCall call;
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.row_block_size = 64; }), Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.dst_type = requested(Format::int8); }),
            Fault::unavailable);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.group_list.shape.dims[0] = 0; }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
