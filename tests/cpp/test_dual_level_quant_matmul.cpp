// npu_dual_level_quant_matmul as a C++ caller sees it: the contract, without Python.
#include "ops/dual_level_quant_matmul.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// Codes 6 and 1 by 6 and -1, with powers of 2 and 1/2, and upper scales of 3 and 10.
struct DualLevelCall {
  std::vector<uint8_t> x1 = {0x27}, x2 = {0xA7}, powers1 = {128, 0}, powers2 = {126, 0};
  std::vector<float> upper1 = {3}, upper2 = {10}, bias = {-50};
  DualLevelQuantMatmul op;

  DualLevelCall() {
    op.x1 = view(x1, {1, 1}), op.x2 = view(x2, {1, 1});
    op.x1_level0_scale = view(upper1, {1, 1}), op.x2_level0_scale = view(upper2, {1, 1});
    op.x1_level1_scale = view(powers1, {1, 1, 2}), op.x2_level1_scale = view(powers2, {1, 1, 2});
    op.bias = view(bias, {1});
    op.output_dtype = requested(Format::float16);
  }
};

TEST(DualLevelQuantMatmul, BlocksHavePowersAndGroupsScales) {
  DualLevelCall call;
  expect_results(call.op, {{{1, 1}, {1000}}});
  call.powers1[0] = 127;
  expect_results(call.op, {{{1, 1}, {475}}});
}

TEST(DualLevelQuantMatmul, FaultsHaveKinds) {
  DualLevelCall call;
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x2.present = false; }), Fault::missing);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x1.dtype = DType::int8; }), Fault::dtype);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x1.rank = op.x1.shape.rank = 1; }), Fault::rank);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.bias.shape.dims[0] = 2; }), Fault::shape);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x1_level1_scale.shape.dims[1] = 2; }),
            Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
