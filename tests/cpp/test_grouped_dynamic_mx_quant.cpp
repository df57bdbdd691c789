// npu_grouped_dynamic_mx_quant as a C++ caller sees it: the contract, without Python.
#include "ops/grouped_dynamic_mx_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// Groups of one block, of one, and of two, the last of 4 rows.
struct GroupedMxCall {
  Values x = Values(100 * 2, 1);
  std::vector<int32_t> ends = {32, 64, 100};
  GroupedDynamicMxQuant op;

  GroupedMxCall() {
    op.input = view(x, {100, 2}), op.group_index = view(ends, {3});
    EXPECT_TRUE(op.check().ok());
  }
};

TEST(GroupedDynamicMxQuant, BlocksBeginAnewInEachGroup) {
  GroupedMxCall call;
  EXPECT_EQ(call.op.outputs[0].dtype, DType::float8_e5m2);
  // 1 becomes 2^15, the code 0x78.
  expect_results(call.op,
                 {{{100, 2}, Values(200, 0x78)},
                  {{4, 2, 2}, {112, 0, 112, 0, 112, 0, 112, 0, 0, 0, 0, 0, 112, 112, 112, 112}}});
}

TEST(GroupedDynamicMxQuant, EndsAreJudgedWhenTheyAreThere) {
  GroupedMxCall call;
  call.ends = {32, 101, 100};
  ASSERT_TRUE(call.op.check().ok());
  EXPECT_EQ(call.op.check_elements().fault(), Fault::attribute);
  std::vector<uint8_t> scales(16, 9);
  const TensorView out[] = {{}, view(scales, {4, 2, 2})};
  EXPECT_EQ(call.op.run(out).fault(), Fault::attribute);
  EXPECT_EQ(scales, std::vector<uint8_t>(16, 9));
}

TEST(GroupedDynamicMxQuant, FaultsHaveKinds) {
  GroupedMxCall call;
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.block_size = 64; }), Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.group_index.shape.dims[0] = 0; }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
