// npu_add_rms_norm_quant as a C++ caller sees it: the contract, without Python.
#include "ops/add_rms_norm_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// The sums are 2 -2 2 -2, their root of mean squares 2. The norm itself is for the C API alone.
struct NormCall {
  Values x1 = {1, -1, 3, 0}, x2 = {1, -1, -1, -2}, gamma = {1, 2, 3, 4}, scales = {1, 0.5f, 2, 1};
  std::vector<int32_t> zero_points = {1, 1, 1, 100};
  AddRmsNormQuant op{true};

  NormCall() {
    op.x1 = view(x1, {1, 4}), op.x2 = view(x2, {1, 4}), op.gamma = view(gamma, {4});
    op.scales1 = view(scales, {4}), op.zero_points1 = view(zero_points, {4});
    op.epsilon = 0;
  }
};

TEST(AddRmsNormQuant, ByHand) {
  NormCall call;
  expect_results(call.op, {{{1, 4}, {2, -3, 2, 96}},
                           {{1, 4}, {0, 0, 0, 0}},
                           {{1, 4}, {2, -2, 2, -2}},
                           {{1, 4}, {1, -2, 3, -4}}});
}

// 70 elements are tiles and a ragged end.
TEST(AddRmsNormQuant, TheNormOfMinusZeroIsMinusZero) {
  Values x(70, -0.0f), gamma(70, 1), scales(1, 1);
  AddRmsNormQuant op(true);
  op.x1 = op.x2 = view(x, {70}), op.gamma = view(gamma, {70}), op.scales1 = view(scales, {1});
  ASSERT_TRUE(op.check().ok());
  on_every_target([&] {
    const std::vector<Values> results = results_of(op, FE_TONEAREST);
    for (const float value : results[3]) EXPECT_EQ(bits_of(value), bits_of(-0.0f));
  });
}

TEST(AddRmsNormQuant, FaultsHaveKinds) {
  NormCall call;
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x1 = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.scales1 = {}; }), Fault::missing);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.gamma.dtype = DType::int8; }), Fault::dtype);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.x1.rank = 9; }), Fault::rank);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.scales1.shape.dims[0] = 3; }), Fault::shape);
  EXPECT_EQ(fault_of(call.op, [](auto& op) { op.axis = 0; }), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
