// npu_dynamic_block_quant as a C++ caller sees it: the contract, without Python.
#include "ops/dynamic_block_quant.h"

#include <cmath>

#include "kernels/dynamic_quant.h"
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

// 32 rows of 16-bit numbers lie in a cache line and are read together; blocks are of fewer elements
// than any the operator takes. Each holds a power of two of its own, as float16.
TEST(DynamicPieces, ManyBlocksOfRowsThatAreReadTogether) {
  constexpr int64_t kRows = 64, kBlock = 32, kBlocks = 10, kElements = kBlocks * kBlock;
  const auto exponent_of = [](int64_t row, int64_t block) { return (3 * row + block) % 20 - 10; };
  std::vector<uint16_t> x(kRows * kElements);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t i = 0; i < kElements; ++i)
      x[static_cast<size_t>(i * kRows + row)] =
          static_cast<uint16_t>((exponent_of(row, i / kBlock) + 15) << 10);
  std::vector<float> scale(kRows * kBlocks), expected;
  run_on_active_target<DynamicPiecesKernel>(
      {.dtype = DType::float16,
       .rows = kRows,
       .n = kElements,
       .group = kBlock,
       .x = {reinterpret_cast<char*>(x.data()), 2, 2 * kRows},
       .smooth = {},
       .y = {},
       .scale = {reinterpret_cast<char*>(scale.data()), 4 * kBlocks, 4},
       .rule = {},
       .most_scale = INFINITY,
       .stream = false});
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t block = 0; block < kBlocks; ++block)
      expected.push_back(std::ldexp(1.0f, static_cast<int>(exponent_of(row, block))) / 127);
  EXPECT_EQ(scale, expected);
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
