// The kernel of dynamic quantization in pieces that no operator asks for.
#include <gtest/gtest.h>

#include <cmath>

#include "core/dispatch.h"
#include "kernels/dynamic/dynamic.h"

namespace npu_quant::testing {
namespace {

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
       .stream = false});
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t block = 0; block < kBlocks; ++block)
      expected.push_back(std::ldexp(1.0f, static_cast<int>(exponent_of(row, block))) / 127);
  EXPECT_EQ(scale, expected);
}

}  // namespace
}  // namespace npu_quant::testing
