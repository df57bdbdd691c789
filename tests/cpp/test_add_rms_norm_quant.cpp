// The norm itself, which the C API alone gives: the sign of its zeros.
#include "ops/add_rms_norm_quant.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

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

}  // namespace
}  // namespace npu_quant::testing
