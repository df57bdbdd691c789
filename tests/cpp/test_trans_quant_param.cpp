// npu_trans_quant_param as a C++ caller sees it: the contract, without Python.
#include "ops/trans_quant_param.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(TransQuantParam, ByHand) {
  // Words of 24 bits from the first to the last that is set, as float has no more.
  constexpr float kBit46 = 0x1p46f, kBit23 = 0x1p23f, kBit37 = 0x1p37f;
  Values scale = {1, -2, 0, 0x1.fffp0f}, offset = {-1, 2.5f, 1000, -1000}, zeros(4);
  TransQuantParam op;
  op.scale = view(scale, {4});
  op.round_mode = 1;
  expect_results(
      op, {{{4}, {kBit46 + 127 * kBit23, kBit46 + 384 * kBit23, kBit46, kBit46 + 128 * kBit23}}});
  op.scale = view(zeros, {1, 4});
  op.offset = view(offset, {2, 2});
  expect_results(op, {{{1, 4},
                       {kBit46 + 511 * kBit37, kBit46 + 2 * kBit37, kBit46 + 255 * kBit37,
                        kBit46 + 256 * kBit37}}});
}

TEST(TransQuantParam, FaultsHaveKinds) {
  Values values(8);
  TransQuantParam good;
  good.scale = view(values, {2, 4}), good.offset = view(values, {8});
  EXPECT_TRUE(good.check().ok());
  EXPECT_EQ(fault_of(good, [](auto& op) { op.scale.rank = 3; }), Fault::rank);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.offset.rank = 0; }), Fault::rank);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.offset.shape.dims[0] = 4; }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
