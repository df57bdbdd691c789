// npu_anti_quant as a C++ caller sees it: the contract, without Python, and sqrt_mode, which Python
// has not.
#include "ops/anti_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

struct AntiQuantCall {
  std::vector<int8_t> x = {0, 1, 2, 3, 4, -5};
  Values scale = {2, -0.5f, 0.3f}, offset = {3, 0, 1};
  AntiQuant op;

  AntiQuantCall() {
    op.x = view(x, {2, 3}), op.scale = view(scale, {3}), op.offset = view(offset, {3});
    op.dst_dtype = requested(DType::bfloat16);
  }
};

// 0.9 and -1.2 as bfloat16 have them.
TEST(AntiQuant, ByHand) {
  AntiQuantCall call;
  expect_results(call.op, {{{2, 3}, {6, -0.5f, 0x1.ccp-1f, 12, -2, -0x1.34p+0f}}});
}

TEST(AntiQuant, SqrtModeMultipliesTwice) {
  AntiQuantCall call;
  call.scale = {2, -0.5f, 4};
  call.op.sqrt_mode = true;
  expect_results(call.op, {{{2, 3}, {12, 0.25f, 48, 24, 1, -64}}});
}

TEST(AntiQuant, FaultsHaveKinds) {
  AntiQuantCall call;
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.scale = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.offset.dtype = DType::bfloat16; }), Fault::dtype);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x.rank = 9; }), Fault::rank);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.scale.shape.dims[0] = 4; }), Fault::shape);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.src_dtype = requested(DType::int32); }),
            Fault::attribute);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.dst_dtype = requested(DType::int8); }),
            Fault::unavailable);
}

}  // namespace
}  // namespace npu_quant::testing
