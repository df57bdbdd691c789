// A caller's rounding mode neither enters a result nor is lost.
#include <gtest/gtest.h>

#include <cfenv>

#include "ops/dynamic_quant.h"
#include "views.h"

namespace npu_quant::testing {
namespace {

TEST(FloatEnvironment, DoesNotEnterResults) {
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i * 7919 % 1000);
  std::vector<int8_t> expected(1000), y(1000);
  std::vector<float> expected_scale(1), scale(1);
  DynamicQuant op;
  op.input = view(x, {1, 1000});
  ASSERT_TRUE(op.check().ok());
  const TensorView plain[] = {view(expected, {1, 1000}), view(expected_scale, {1})};
  const TensorView odd[] = {view(y, {1, 1000}), view(scale, {1})};
  ASSERT_TRUE(op.run(plain).ok());
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const bool ok = op.run(odd).ok();
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(ok);
    EXPECT_EQ(after, mode);
    EXPECT_EQ(y, expected);
    EXPECT_EQ(bits_of(scale[0]), bits_of(expected_scale[0]));
  }
}

}  // namespace
}  // namespace npu_quant::testing
