// npu_dynamic_block_quant as a C++ caller sees it: the contract, without Python.
#include "ops/dynamic_block_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(DynamicBlockQuant, RaggedLastBlock) {
  Values x(2 * 130, 1), y(2 * 130, 127);
  x[0] = 127;   // block 0 of row 0
  x[129] = -2;  // block 1 of row 0: two elements
  for (size_t i = 1; i < 128; ++i) y[i] = 1;
  y[128] = 64, y[129] = -127;  // 63.5, a tie: to even
  DynamicBlockQuant op;
  op.x = view(x, {2, 130});
  expect_results(op, {{{2, 130}, y}, {{2, 2}, {1, 2.0f / 127, 1.0f / 127, 1.0f / 127}}});
}

TEST(DynamicBlockQuant, MinScaleBoundsTheScaleAndSaturates) {
  Values x = {1, -1, 0.25f, 0};
  DynamicBlockQuant op;
  op.x = view(x, {1, 4});
  op.min_scale = 200;
  expect_results(op, {{{1, 4}, {127, -128, 50, 0}}, {{1, 1}, {1.0f / 200}}});
}

TEST(DynamicBlockQuant, FaultsHaveKinds) {
  Values x(16);
  DynamicBlockQuant good;
  good.x = view(x, {4, 4});
  EXPECT_EQ(fault_of(good, [](auto& op) { op.x = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.x.dtype = DType::int8; }), Fault::dtype);
  EXPECT_EQ(fault_of(good, [&](auto& op) { op.x = view(x, {1, 1, 4, 4}); }), Fault::rank);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.min_scale = -1; }), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
