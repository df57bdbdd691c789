// npu_add_rms_norm_dynamic_quant as a C++ caller sees it: the contract, without Python.
#include "ops/add_rms_norm_dynamic_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(AddRmsNormDynamicQuant, OfOneBranchOrTheOther) {
  // The norm of 2 and -2 is 1 and -1.
  Values x1 = {2, 0}, x2 = {0, -2}, gamma = {1, 1}, factors = {127, 2};
  AddRmsNormDynamicQuant op;
  op.x = view(x1, {1, 2}), op.x2 = view(x2, {1, 2}), op.gamma = view(gamma, {2});
  op.epsilon = 0;
  const Expected none{{}, {0}}, x_out{{1, 2}, {2, -2}};
  expect_results(op, {{{1, 2}, {127, -127}}, none, x_out, {{1}, {1 / 127.f}}, none});
  op.smooth_scales[1] = view(factors, {2});
  op.output_mask = {.count = 2, .each = {false, true}};
  expect_results(op, {none, {{1, 2}, {127, -2}}, x_out, none, {{1}, {1}}});
  EXPECT_EQ(fault_of(op, [](auto& op) { op.output_mask.each[1] = false; }), Fault::attribute);
  EXPECT_EQ(fault_of(op, [](auto& op) { op.output_mask.each[0] = true; }), Fault::none);
  EXPECT_EQ(fault_of(op, [](auto& op) { op.output_mask.count = -1; }), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
