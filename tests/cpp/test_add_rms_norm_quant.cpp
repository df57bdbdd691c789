// npu_add_rms_norm_quant as a C++ caller sees it: the contract, without Python.
#include "ops/add_rms_norm_quant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/dispatch.h"
#include "reference.h"
#include "views.h"

namespace npu_quant::testing {
namespace {

// The program of aclnnAddRmsNormQuant's page, in float32: zeros, with zero points of 100.
TEST(AddRmsNormQuant, TheDocumentsProgram) {
  std::vector<float> x1(64 * 2), x2(64 * 2), gamma(2), scales(2, 1), x(64 * 2, 5);
  std::vector<int32_t> zero_points(2, 100);
  std::vector<int8_t> y1(64 * 2), y2(64 * 2, 5);
  AddRmsNormQuant op;
  op.x1 = view(x1, {64, 2});
  op.x2 = view(x2, {64, 2});
  op.gamma = view(gamma, {2});
  op.scales1 = view(scales, {2});
  op.zero_points1 = view(zero_points, {2});
  ASSERT_TRUE(op.check().ok());
  const TensorView out[] = {view(y1, {64, 2}), view(y2, {64, 2}), view(x, {64, 2})};
  ASSERT_TRUE(op.run(out).ok());
  EXPECT_EQ(y1, std::vector<int8_t>(64 * 2, 100));
  EXPECT_EQ(y2, std::vector<int8_t>(64 * 2, 0));
  EXPECT_EQ(x, std::vector<float>(64 * 2, 0));
}

TEST(AddRmsNormQuant, SumsInSixtyFourLanes) {
  // The squares of 1 are lost beside 2^24 unless they are added up among themselves first.
  std::vector<float> x1(192, 1), x2(192, 0), gamma(192, 1), scales(1, 1.0f / 4096);
  x1[0] = 4096;
  std::vector<int8_t> y1(192);
  AddRmsNormQuant op;
  op.x1 = view(x1, {192});
  op.x2 = view(x2, {192});
  op.gamma = view(gamma, {192});
  op.scales1 = view(scales, {1});
  op.epsilon = 0;
  ASSERT_TRUE(op.check().ok());
  const TensorView out[] = {view(y1, {192}), {}, {}};
  ASSERT_TRUE(op.run(out).ok());
  // Lane 0 stays 2^24 with two ones too small for it, 63 lanes hold 3.
  const float sum = 0x1p24f + 63 * 3 - 1;
  const float rstd = 1 / std::sqrt(sum / 192);
  EXPECT_EQ(y1[1], static_cast<int8_t>(std::min(127.0f, std::nearbyint(rstd * 4096))));
}

// The norm itself, which the C API hands out; 70 elements are tiles and a ragged end.
TEST(AddRmsNormQuant, TheNormOfMinusZeroIsMinusZeroOnEveryTarget) {
  on_every_target([] {
    std::vector<float> x(70, -0.0f), gamma(70, 1), scales(1, 1), norm(70, 5);
    AddRmsNormQuant op(true);
    op.x1 = op.x2 = view(x, {70});
    op.gamma = view(gamma, {70});
    op.scales1 = view(scales, {1});
    ASSERT_TRUE(op.check().ok());
    const TensorView out[] = {{}, {}, {}, view(norm, {70})};
    ASSERT_TRUE(op.run(out).ok());
    for (const float value : norm) EXPECT_TRUE(value == 0 && std::signbit(value));
  });
}

TEST(AddRmsNormQuant, FaultsSayOfWhatKindTheyAre) {
  std::vector<float> x(8), other(3);
  AddRmsNormQuant op;
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.x1 = op.x2 = view(x, {2, 4});
  op.gamma = view(x, {4});
  EXPECT_EQ(op.check().fault(), Fault::missing);
  op.scales1 = view(other, {3});
  EXPECT_EQ(op.check().fault(), Fault::shape);
  op.scales1 = view(x, {4});
  EXPECT_TRUE(op.check().ok());
  op.axis = 0;
  EXPECT_EQ(op.check().fault(), Fault::attribute);
}

}  // namespace
}  // namespace npu_quant::testing
