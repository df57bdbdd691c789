// npu_anti_mx_quant as a C++ caller sees it: the contract, without Python.
#include "ops/anti_mx_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(AntiMxQuant, ByHand) {
  std::vector<uint8_t> x = {0x21, 0xF7}, scales = {126, 9};
  AntiMxQuant op;
  op.x = view(x, {2}), op.mxscale = view(scales, {1, 2});
  op.dst_type = requested(Format::float32);
  expect_results(op, {{{4}, {0.25f, 0.5f, 3, -3}}});
}

TEST(AntiMxQuant, BlocksAlongAnotherAxis) {
  std::vector<uint8_t> x(33, 0x42), scales = {127, 254, 0, 130};
  AntiMxQuant op;
  op.x = view(x, {33, 1}), op.mxscale = view(scales, {1, 2, 2});
  op.axis = 0;
  op.dst_type = requested(Format::float32), op.src_type = requested(Format::float4_e1m2);
  Values y(66, 0.5f);  // of the first block of each column, then the second
  for (size_t i = 1; i < 64; i += 2) y[i] = 0x1p-127f;
  y[64] = 0x1p126f, y[65] = 8;
  expect_results(op, {{{33, 2}, y}});
}

TEST(AntiMxQuant, FaultsHaveKinds) {
  std::vector<uint8_t> x(16), scales(2);
  AntiMxQuant good;
  good.x = view(x, {16}), good.mxscale = view(scales, {1, 2});
  EXPECT_EQ(fault_of(good, [](auto& op) { op.x = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.x.dtype = DType::int8; }), Fault::dtype);
  EXPECT_EQ(fault_of(good, [&](auto& op) { op.mxscale = view(scales, {2}); }), Fault::rank);
  EXPECT_EQ(fault_of(good, [&](auto& op) { op.mxscale = view(scales, {2, 1}); }), Fault::shape);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.axis = 1; }), Fault::attribute);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.dst_type = requested(Format::int8); }),
            Fault::unavailable);
}

}  // namespace
}  // namespace npu_quant::testing
