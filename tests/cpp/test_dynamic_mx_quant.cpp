// npu_dynamic_mx_quant, along one axis and along two, as a C++ caller sees it: the contract.
#include "ops/dynamic_mx_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(DynamicMxQuant, RaggedLastBlock) {
  Values x(2 * 34, 1), y(2 * 17, 0x66);  // 1 becomes 4
  x[0] = 448;                            // block 0 of row 0: 7 is rounded to 6, and 1/64 to 0
  x[33] = -8;                            // block 1 of row 0: 1/2 and -4
  for (size_t i = 0; i < 16; ++i) y[i] = i == 0 ? 0x07 : 0;
  y[16] = 0xE1;
  DynamicMxQuant op;
  op.input = view(x, {2, 34});
  expect_results(op, {{{2, 17}, y}, {{2, 1, 2}, {133, 128, 125, 125}}});
}

// Of 33 rows and 2 columns, 64 in the last one: alone in its block of a column, not of its row.
Values last_of_two_columns() {
  Values x(33 * 2, 1);
  x[2 * 32 + 1] = 64;
  return x;
}

TEST(DynamicMxQuant, PairsOfBlocksAlongAnotherAxis) {
  Values x = last_of_two_columns();
  DynamicMxQuant op;
  op.input = view(x, {33, 2});
  op.axis = 0;
  op.dst_type = requested(Format::float4_e1m2);
  expect_results(op, {{{33, 1}, Values(33, 0x44)}, {{1, 2, 2}, {127, 127, 127, 133}}});
}

TEST(DynamicMxQuantWithDualAxis, BlocksOfRowsAndOfColumns) {
  Values x = last_of_two_columns(), y1(33, 0x44), scales1(33 * 2);
  y1[32] = 0x40;  // 1/64 is rounded to 0
  for (size_t row = 0; row < 33; ++row) scales1[2 * row] = row == 32 ? 133 : 127;
  DynamicMxQuantWithDualAxis op;
  op.input = view(x, {33, 2});
  op.dst_type = requested(Format::float4_e1m2);
  expect_results(op, {{{33, 1}, y1},
                      {{33, 1, 2}, scales1},
                      {{33, 1}, Values(33, 0x44)},
                      {{1, 2, 2}, {127, 127, 127, 133}}});
  EXPECT_EQ(fault_of(op, [&](auto& one) { one.input = view(x, {66}); }), Fault::rank);
}

TEST(DynamicMxQuant, FaultsHaveKinds) {
  Values x(16);
  DynamicMxQuant good;
  good.input = view(x, {4, 4});
  EXPECT_EQ(fault_of(good, [](auto& op) { op.input = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.input.dtype = DType::int8; }), Fault::dtype);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.input.rank = 8; }), Fault::rank);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.block_size = 33; }), Fault::attribute);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.dst_type = requested(Format::int8); }),
            Fault::unavailable);
  EXPECT_EQ(fault_of(good, [&](auto& op) { op.input = view(x, {16, 1}); }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
