// npu_dynamic_block_mx_quant as a C++ caller sees it: the contract, without Python.
#include "ops/dynamic_block_mx_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// 1 becomes 4 beside itself, 64 becomes 4 and 1 is 0 beside it: four tiles.
TEST(DynamicBlockMxQuant, TilesInBothLayouts) {
  Values x(33 * 34, 1.0f), y(33 * 17, 0x66), rows(33 * 2, 125), columns(34 * 2, 125);
  x[32 * 34] = 64;
  for (size_t i = 0; i < 16; ++i) y[32 * 17 + i] = i == 0 ? 0x06 : 0;
  rows[32 * 2] = 131;
  for (size_t c = 0; c < 32; ++c) columns[2 * c + 1] = 131;
  DynamicBlockMxQuant op;
  op.input = view(x, {33, 34});
  expect_results(op, {{{33, 17}, y}, {{33, 1, 2}, rows}, {{1, 34, 2}, columns}});
}

TEST(DynamicBlockMxQuant, FaultsHaveKinds) {
  Values x(16);
  DynamicBlockMxQuant good;
  good.input = view(x, {4, 4});
  EXPECT_EQ(fault_of(good, [](auto& op) { op.scale_alg = 2, op.dst_type_max = 8; }),
            Fault::attribute);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.scale_alg = 2, op.dst_type_max = 7; }), Fault::none);
  EXPECT_EQ(fault_of(good, [&](auto& op) { op.input = view(x, {16, 1}); }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
