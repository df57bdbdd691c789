// npu_grouped_dynamic_block_quant as a C++ caller sees it: the contract, without Python.
#include "ops/grouped_dynamic_block_quant.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

// Rows 0 to 129 in two blocks, then one row, and two.
struct Call {
  std::vector<float> x = std::vector<float>(133 * 2, 1.0f);
  std::vector<int32_t> ends = {130, 131, 133};
  GroupedDynamicBlockQuant op;

  Call() {
    x[2 * 129] = 2, x[2 * 130] = 4, x[2 * 132] = -8;
    op.x = view(x, {133, 2});
    op.group_list = view(ends, {3});
    op.row_block_size = 128;
  }
};

TEST(GroupedDynamicBlockQuant, BlocksBeginAnewInEachGroup) {
  Call call;
  call.op.min_scale = 57344;
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.op.outputs[0].dtype, DType::float8_e5m2);
  EXPECT_EQ(call.op.outputs[1].shape, (Shape{2, {4, 1}}));
  std::vector<float> scales(4, 9);
  const TensorView out[] = {{}, view(scales, {4, 1})};
  ASSERT_TRUE(call.op.run(out).ok());
  constexpr float kBound = 1.0f / 57344;
  EXPECT_EQ(scales, (std::vector<float>{kBound, kBound, kBound, kBound}));
  call.op.min_scale = 0;
  ASSERT_TRUE(call.op.check().ok());
  ASSERT_TRUE(call.op.run(out).ok());
  EXPECT_EQ(scales, (std::vector<float>{kBound, 2 * kBound, 4 * kBound, 8 * kBound}));
}

TEST(GroupedDynamicBlockQuant, RowsOfNoBlockAreCleared) {
  Call call;
  call.ends = {0, 128, 133};
  ASSERT_TRUE(call.op.check().ok());
  std::vector<float> scales(4, 9);
  const TensorView out[] = {{}, view(scales, {4, 1})};
  ASSERT_TRUE(call.op.run(out).ok());
  EXPECT_EQ(scales, (std::vector<float>{0, 1.0f / 57344, 0, 8.0f / 57344}));
}

TEST(GroupedDynamicBlockQuant, EndsAreJudgedWhenTheyAreThere) {
  Call call;
  call.ends = {130, 129, 133};
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.op.check_elements().fault(), Fault::attribute);
  std::vector<float> scales(4, 9);
  const TensorView out[] = {{}, view(scales, {4, 1})};
  EXPECT_EQ(call.op.run(out).fault(), Fault::attribute);
  EXPECT_EQ(scales, std::vector<float>(4, 9));
}

TEST(GroupedDynamicBlockQuant, FaultsSayOfWhatKindTheyAre) {
  Call call;
  call.op.row_block_size = 64;
  EXPECT_EQ(call.op.check().fault(), Fault::attribute);
  call.op.row_block_size = 128;
  call.op.dst_type = {.is_default = false, .format = Format::int8};
  EXPECT_EQ(call.op.check().fault(), Fault::unavailable);
  call.op.dst_type = {};
  call.op.group_list = view(call.ends, {0});
  EXPECT_EQ(call.op.check().fault(), Fault::shape);
  call.op.group_list = view(call.ends, {1, 3});
  EXPECT_EQ(call.op.check().fault(), Fault::rank);
  call.op.group_list = {};
  EXPECT_EQ(call.op.check().fault(), Fault::missing);
}

}  // namespace
}  // namespace npu_quant::testing
