// npu_convert_weight_to_int4pack as a C++ caller sees it: the contract, without Python.
#include "ops/convert_weight_to_int4pack.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(ConvertWeightToInt4pack, ByHand) {
  std::vector<int32_t> integers = {0, 1, 2, 3, 0, 0, 16, 32, -1, -1, -1, -1, -1, 0, 0, 0};
  ConvertWeightToInt4pack op;
  op.weight = view(integers, {1, 2, 8});
  expect_results(op, {{{1, 2, 1}, {0x3210, 0xfffff}}});
  Values floats = {1, 0.5f, -0.0f, 0.75f, 0, 0, 0, 0};
  op.weight = view(floats, {1, 8});
  expect_results(op, {{{1, 1}, {0x812 * 0x1p-149f}}});
}

TEST(ConvertWeightToInt4pack, FaultsHaveKinds) {
  std::vector<int32_t> values(16);
  ConvertWeightToInt4pack good;
  good.weight = view(values, {2, 8});
  EXPECT_EQ(fault_of(good, [](auto& op) { op.weight.rank = 1; }), Fault::rank);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.weight.shape.dims[1] = 7; }), Fault::shape);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.weight.shape.dims[0] = 0; }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
