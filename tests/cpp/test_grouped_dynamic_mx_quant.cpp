// npu_grouped_dynamic_mx_quant as a C++ caller sees it: the contract, without Python.
#include "ops/grouped_dynamic_mx_quant.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

struct Call {
  std::vector<float> x = std::vector<float>(100 * 2, 1.0f);
  std::vector<int32_t> ends = {32, 64, 100};
  GroupedDynamicMxQuant op;

  Call() {
    op.input = view(x, {100, 2});
    op.group_index = view(ends, {3});
  }
};

TEST(GroupedDynamicMxQuant, BlocksBeginAnewInEachGroup) {
  Call call;
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.op.outputs[0].dtype, DType::float8_e5m2);
  EXPECT_EQ(call.op.outputs[1].shape, (Shape{3, {4, 2, 2}}));
  std::vector<uint8_t> scales(16, 9);
  const TensorView out[] = {{}, view(scales, {4, 2, 2})};
  ASSERT_TRUE(call.op.run(out).ok());
  EXPECT_EQ(scales,
            (std::vector<uint8_t>{112, 0, 112, 0, 112, 0, 112, 0, 0, 0, 0, 0, 112, 112, 112, 112}));
}

TEST(GroupedDynamicMxQuant, EndsAreJudgedWhenTheyAreThere) {
  Call call;
  call.ends = {32, 101, 100};
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.op.check_elements().fault(), Fault::attribute);
  std::vector<uint8_t> scales(16, 9);
  const TensorView out[] = {{}, view(scales, {4, 2, 2})};
  EXPECT_EQ(call.op.run(out).fault(), Fault::attribute);
  EXPECT_EQ(scales, std::vector<uint8_t>(16, 9));
}

TEST(GroupedDynamicMxQuant, FaultsSayOfWhatKindTheyAre) {
  Call call;
  call.op.block_size = 64;
  EXPECT_EQ(call.op.check().fault(), Fault::attribute);
  call.op.block_size = 32;
  call.op.group_index = view(call.ends, {0});
  EXPECT_EQ(call.op.check().fault(), Fault::shape);
  call.op.group_index = view(call.ends, {1, 3});
  EXPECT_EQ(call.op.check().fault(), Fault::rank);
  call.op.group_index = {};
  EXPECT_EQ(call.op.check().fault(), Fault::missing);
}

}  // namespace
}  // namespace npu_quant::testing
