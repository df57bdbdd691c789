// The norms of x as a C++ caller sees them: the contracts, without Python.
#include "ops/rms_norm.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

// Norms of 2 and -2 are 1 and -1.
struct Arrays {
  Values x = {2, -2}, gamma = {1, 1}, beta = {0, 4}, scale = {0.5f}, offset = {1},
         smooth = {127, 2};
};

template <class Norm>
Norm good_norm(Arrays& a) {
  Norm op;
  op.x = view(a.x, {1, 2}), op.gamma = view(a.gamma, {2}), op.beta = view(a.beta, {1, 2});
  op.epsilon = 0;
  return op;
}

TEST(RmsNorm, ByHand) {
  Arrays a;
  auto plain = good_norm<RmsNormQuant>(a);
  plain.scale = view(a.scale, {1}), plain.offset = view(a.offset, {1});
  expect_results(plain, {{{1, 2}, {3, 7}}});
  auto second = good_norm<RmsNormQuantV2>(a);
  second.scale = view(a.scale, {1}), second.div_mode = false;
  expect_results(second, {{{1, 2}, {0, 2}}, {{1, 1}, {0.5f}}});
  auto dynamic = good_norm<RmsNormDynamicQuant>(a);
  dynamic.beta = {}, dynamic.smooth_scale = view(a.smooth, {2});
  expect_results(dynamic, {{{1, 2}, {127, -2}}, {{1}, {1}}});
}

TEST(RmsNorm, FaultsOfFormatsAndShapesHaveKinds) {
  Arrays a;
  auto good = good_norm<RmsNormQuant>(a);
  good.scale = view(a.scale, {1}), good.offset = view(a.offset, {1});
  EXPECT_TRUE(good.check().ok());
  const auto uint8 = [](auto& op) {
    op.dst_dtype = {.is_default = false, .format = Format::uint8};
  };
  EXPECT_EQ(fault_of(good, uint8), Fault::unavailable);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.gamma.shape.dims[0] = 3; }), Fault::shape);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.scale.shape.dims[0] = 3; }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
