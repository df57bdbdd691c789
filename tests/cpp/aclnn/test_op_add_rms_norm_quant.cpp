// aclnnAddRmsNormQuant and V2: sums, codes, the norm itself, and what phase 1 refuses.
#include <cmath>

#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "aclnnop/aclnn_add_rms_norm_quant_v2.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Codes = std::vector<int8_t>;
using Values = std::vector<float>;

// x1 + x2 is 2 -2 2 -2 and 4 0 0 0: without epsilon the norm halves it.
struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    if (version == 1)
      return aclnnAddRmsNormQuantGetWorkspaceSize(
          x1.get(), x2.get(), gamma.get(), scales1.get(), scales2.get(), zero_points1.get(),
          zero_points2.get(), axis, epsilon, div_mode, y1.get(), y2.get(), x.get(), size, executor);
    return aclnnAddRmsNormQuantV2GetWorkspaceSize(
        x1.get(), x2.get(), gamma.get(), scales1.get(), scales2.get(), zero_points1.get(),
        zero_points2.get(), beta.get(), axis, epsilon, div_mode, y1.get(), y2.get(), x.get(),
        norm.get(), size, executor);
  }
  auto phase2() const { return version == 1 ? aclnnAddRmsNormQuant : aclnnAddRmsNormQuantV2; }

  int version = 2;
  Tensor x1 = tensor_of({1, -1, 3, 0, 3, 1, 2, 0}, {2, 4}, ACL_FLOAT16);
  Tensor x2 = tensor_of({1, -1, -1, -2, 1, -1, -2, 0}, {2, 4}, ACL_FLOAT16);
  Tensor gamma = tensor_of({1, 2, 3, 4}, {4}, ACL_FLOAT16);
  Tensor scales1 = tensor_of({1, 0.5f, 2, 1}, {4}, ACL_FLOAT);
  Tensor scales2, zero_points1, zero_points2, beta;
  int64_t axis = -1;
  double epsilon = 0;
  bool div_mode = true;
  Tensor y1 = device_output<int8_t>({2, 4}, ACL_INT8), y2 = device_output<int8_t>({2, 4}, ACL_INT8);
  Tensor x = device_output<uint16_t>({2, 4}, ACL_FLOAT16), norm;
};

class AclnnAddRmsNormQuant : public OnDevice, public ::testing::WithParamInterface<int> {
 protected:
  // The codes of y1.
  Codes compute(Call& call) {
    call.version = GetParam();
    EXPECT_EQ(run(stream, call.phase2(), call), 0);
    return call.y1.host<int8_t>();
  }
  void expect_refusals(const std::vector<Fault<Call>>& faults) {
    expect_all_refused<Call>(faults, [](Call& call) { call.version = GetParam(); });
  }
  // Shapes that do not fit each other are tiling's to find in V1.
  static aclnnStatus shape_code() { return GetParam() == 1 ? 561002 : 161002; }
};
INSTANTIATE_TEST_SUITE_P(Version, AclnnAddRmsNormQuant, ::testing::Values(1, 2));

Call call_for(const Dims& shape, const Values& x1, const Values& x2, aclDataType dtype) {
  Call call;
  const Dims last{shape.back()};
  call.x1 = tensor_of(x1, shape, dtype);
  call.x2 = tensor_of(x2, shape, dtype);
  call.gamma = ones(last, dtype);
  call.scales1 = ones(last, ACL_FLOAT);
  call.y1 = device_output<int8_t>(shape, ACL_INT8);
  call.y2 = device_output<int8_t>(shape, ACL_INT8);
  call.x = ones(shape, dtype);
  return call;
}

TEST_P(AclnnAddRmsNormQuant, HandVector) {
  for (const aclDataType dtype : kFloatDtypes) {
    Call call = call_for({4}, {1, 2, 3, 4}, {0.5f, -1, 0.25f, 1}, dtype);
    call.gamma = tensor_of({1, 0.5f, 2, 1.5f}, {4}, dtype);
    call.scales1 = device_tensor<float>({0.1f, 0.05f, 0.1f, 0.02f}, {4}, ACL_FLOAT);
    call.zero_points1 = tensor_of({0, 3, -5, 10}, {4}, ACL_INT32);
    call.epsilon = 1e-6;
    EXPECT_EQ(compute(call), (Codes{5, 6, 16, 127}));
    EXPECT_EQ(floats_in(call.x, dtype), (Values{1.5f, 1, 3.25f, 5}));
  }
}

// 5, 6, 16 and 128. Without scales2 all of y2 is zero bytes.
TEST_P(AclnnAddRmsNormQuant, FloatCodes) {
  const std::pair<aclDataType, std::vector<uint8_t>> expected[] = {
      {ACL_FLOAT8_E4M3FN, {0x4a, 0x4c, 0x58, 0x70}},
      {ACL_FLOAT8_E5M2, {0x45, 0x46, 0x4c, 0x58}},
      {ACL_HIFLOAT8, {0x22, 0x24, 0x40, 0x4c}}};
  for (const auto& [dtype, codes] : expected) {
    Call call = call_for({4}, {1, 2, 3, 4}, {0.5f, -1, 0.25f, 1}, ACL_FLOAT16);
    call.gamma = tensor_of({1, 0.5f, 2, 1.5f}, {4}, ACL_FLOAT16);
    call.scales1 = device_tensor<float>({0.1f, 0.05f, 0.1f, 0.02f}, {4}, ACL_FLOAT);
    call.zero_points1 = tensor_of({0, 3, -5, 10}, {4}, ACL_INT32);
    call.epsilon = 1e-6;
    call.y1 = device_output<int8_t>({4}, dtype);
    call.y2 = device_output<int8_t>({4}, dtype);
    compute(call);
    EXPECT_EQ(call.y1.host<uint8_t>(), codes);
    EXPECT_EQ(call.y2.host<uint8_t>(), std::vector<uint8_t>(4, 0));
  }
}

// Zeros stay zeros: the codes are the zero points.
TEST_P(AclnnAddRmsNormQuant, ZerosGiveTheZeroPoints) {
  Call call = call_for({64, 32}, Values(2048, 0), Values(2048, 0), ACL_FLOAT16);
  call.gamma = tensor_of(Values(32, 0), {32}, ACL_FLOAT16);
  call.zero_points1 = tensor_of(Values(32, 100), {32}, ACL_INT32);
  call.epsilon = 1e-6;
  if (GetParam() == 2) {
    call.beta = tensor_of(Values(32, 0), {32}, ACL_FLOAT16);
  }
  EXPECT_EQ(compute(call), Codes(2048, 100));
  EXPECT_EQ(call.y2.host<int8_t>(), Codes(2048, 0));
}

TEST_P(AclnnAddRmsNormQuant, DividesOrMultiplies) {
  Call call;
  EXPECT_EQ(compute(call), (Codes{1, -4, 2, -4, 2, 0, 0, 0}));
  EXPECT_EQ(floats_in(call.x, ACL_FLOAT16), (Values{2, -2, 2, -2, 4, 0, 0, 0}));
  call.div_mode = false;
  EXPECT_EQ(compute(call), (Codes{1, -1, 6, -4, 2, 0, 0, 0}));
  call.scales1 = tensor_of({-100}, {1}, ACL_FLOAT);
  EXPECT_EQ(compute(call), (Codes{-100, 127, -128, 127, -128, 0, 0, 0}));
}

TEST_P(AclnnAddRmsNormQuant, SecondCodes) {
  Call call;
  call.zero_points2 = tensor_of({1, 2, 3, 4}, {4}, ACL_INT32);
  compute(call);
  EXPECT_EQ(call.y2.host<int8_t>(), Codes(8, 0));
  call.scales2 = tensor_of({0.5f, 0.5f, 0.25f, 8}, {4}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y2.host<int8_t>(), (Codes{3, -2, 15, 4, 5, 2, 3, 4}));
  call.zero_points2 = Tensor();
  compute(call);
  EXPECT_EQ(call.y2.host<int8_t>(), (Codes{2, -4, 12, 0, 4, 0, 0, 0}));
}

TEST_P(AclnnAddRmsNormQuant, AxisHasNoEffect) {
  for (const int64_t axis : {0, 1, 5, -2, -100}) {
    Call call;
    call.axis = axis;
    EXPECT_EQ(compute(call), (Codes{1, -4, 2, -4, 2, 0, 0, 0}));
  }
}

TEST_P(AclnnAddRmsNormQuant, EpsilonIsAFloat) {
  Call call;
  call.epsilon = 12;
  EXPECT_EQ(compute(call), (Codes{0, -2, 1, -2, 1, 0, 0, 0}));
  call.epsilon = 1e300;
  EXPECT_EQ(compute(call), Codes(8, 0));
}

// NaN makes its row 0; an infinity makes the norm's factor 0.
TEST_P(AclnnAddRmsNormQuant, RowsOutOfTheOrdinary) {
  Call call =
      call_for({4, 2}, {kNaN, 1, kInf, 1, kInf, 1, 0, 0}, {0, 0, 0, 1, -kInf, 1, 0, 0}, ACL_FLOAT);
  call.zero_points1 = tensor_of({5, 5}, {2}, ACL_INT32);
  EXPECT_EQ(compute(call), (Codes{0, 0, 0, 5, 0, 0, 0, 0}));
  const Values x = floats_in(call.x, ACL_FLOAT);
  EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[4]));
  EXPECT_EQ(x[2], kInf);
  EXPECT_EQ(x[3], 2);
}

// It is the sum that is normalized, not its rounded copy: 2048 + 1 in halves is 2048. Epsilon makes
// the root 4096.
TEST_P(AclnnAddRmsNormQuant, NormalizesTheSumItself) {
  Call call = call_for({1, 1}, {2048}, {1}, ACL_FLOAT16);
  call.epsilon = 4096.0 * 4096 - 2049.0 * 2049;
  call.div_mode = false;
  call.scales1 = tensor_of({4096}, {1}, ACL_FLOAT);
  call.zero_points1 = tensor_of({-2000}, {1}, ACL_INT32);
  EXPECT_EQ(compute(call), (Codes{49}));
  EXPECT_EQ(floats_in(call.x, ACL_FLOAT16), (Values{2048}));
}

TEST_P(AclnnAddRmsNormQuant, NormOverAllAxesOfGamma) {
  Call call = call_for({2, 2, 2}, {2, -2, 2, -2, 4, 0, 0, 0}, Values(8, 0), ACL_BF16);
  call.gamma = tensor_of({1, 2, 3, 4}, {2, 2}, ACL_BF16);
  call.scales1 = tensor_of({1, 0.5f, 2, 1}, {2, 2}, ACL_BF16);
  EXPECT_EQ(compute(call), (Codes{1, -4, 2, -4, 2, 0, 0, 0}));
  for (const Dims& shape : {Dims{2}, Dims{1, 2}}) {
    call.scales1 = tensor_of({1, 0.5f}, shape, ACL_FLOAT);
    call.zero_points1 = tensor_of({1, 0}, shape, ACL_BF16);
    EXPECT_EQ(compute(call), (Codes{2, -4, 4, -8, 3, 0, 1, 0}));
  }
}

TEST_P(AclnnAddRmsNormQuant, DtypesOfScalesAndZeroPoints) {
  for (const aclDataType dtype : kFloatDtypes)
    for (const aclDataType scale : {ACL_FLOAT, dtype})
      for (const aclDataType zero_point : {ACL_INT32, ACL_FLOAT, dtype}) {
        Call call = call_for({4}, {1, -1, 3, 0}, {1, -1, -1, -2}, dtype);
        call.scales1 = tensor_of({0.5f, 0.5f, 0.25f, 1}, {4}, scale);
        call.zero_points1 = tensor_of({1, 1, 1, -100}, {4}, zero_point);
        EXPECT_EQ(compute(call), (Codes{3, -1, 5, -101}));
      }
}

TEST_P(AclnnAddRmsNormQuant, StridesOfInputsAndOutputs) {
  Call call;
  call.x1 = strided_of({1, -1, 3, 0, 3, 1, 2, 0}, {2, 4}, ACL_FLOAT16, {1, 3}, 2);
  call.x2 = strided_of({1, -1, -1, -2, 1, -1, -2, 0}, {2, 4}, ACL_FLOAT16, {9, 2}, 1);
  call.gamma = strided_of({1, 2, 3, 4}, {4}, ACL_FLOAT16, {3});
  call.scales1 = strided_of({1, 0.5f, 2, 1}, {4}, ACL_FLOAT, {2}, 1);
  call.zero_points1 = strided_of({1, 1, 1, 1}, {4}, ACL_INT32, {0}, 4);
  const Dims strides{1, 3};
  call.y1 = strided_tensor<int8_t>(Codes(8, 77), {2, 4}, ACL_INT8, strides, 1, 99);
  call.y2 = strided_tensor<int8_t>(Codes(8, 77), {2, 4}, ACL_INT8, strides, 1, 99);
  call.x = strided_of(Values(8, 77), {2, 4}, ACL_FLOAT16, strides, 1);
  EXPECT_EQ(compute(call), (Codes{2, -3, 2, -3, 3, 1, 1, 1}));
  EXPECT_EQ(call.y1.block<int8_t>(), (Codes{99, 2, 3, 99, -3, 1, 99, 2, 1, 99, -3, 1}));
  EXPECT_EQ(call.y2.block<int8_t>(), (Codes{99, 0, 0, 99, 0, 0, 99, 0, 0, 99, 0, 0}));
  EXPECT_EQ(floats_in(call.x, ACL_FLOAT16), (Values{2, -2, 2, -2, 4, 0, 0, 0}));
}

TEST_P(AclnnAddRmsNormQuant, Empty) {
  for (const Dims& shape : {Dims{0, 4}, Dims{3, 0}}) {
    Call call = call_for(shape, {}, {}, ACL_FLOAT16);
    EXPECT_EQ(compute(call), Codes{});
  }
}

TEST_P(AclnnAddRmsNormQuant, RefusesDtypes) {
  const auto four = [](aclDataType dtype) { return ones({4}, dtype); };
  expect_refusals({
      {"x1", [](Call& c) { c.x1 = ones({2, 4}, ACL_INT8); }, 161002, "x1"},
      {"x2", [](Call& c) { c.x2 = ones({2, 4}, ACL_FLOAT); }, 161002, "x2"},
      {"gamma", [=](Call& c) { c.gamma = four(ACL_BF16); }, 161002, "gamma"},
      {"scales1", [=](Call& c) { c.scales1 = four(ACL_INT32); }, 161002, "scales1"},
      {"another's", [=](Call& c) { c.scales1 = four(ACL_BF16); }, 161002, "scales1"},
      {"scales2", [=](Call& c) { c.scales2 = four(ACL_INT32); }, 161002, "scales2Optional"},
      {"zero", [=](Call& c) { c.zero_points1 = four(ACL_INT64); }, 161002, "zeroPoints1Optional"},
      {"zero 2", [=](Call& c) { c.zero_points2 = four(ACL_BF16); }, 161002, "zeroPoints2Optional"},
      {"y1", [](Call& c) { c.y1 = ones({2, 4}, ACL_UINT8); }, 161002, "y1Out"},
      {"y2", [](Call& c) { c.y2 = ones({2, 4}, ACL_FLOAT); }, 161002, "y2Out"},
      {"x", [](Call& c) { c.x = ones({2, 4}, ACL_FLOAT); }, 161002, "xOut"},
  });
}

TEST_P(AclnnAddRmsNormQuant, RefusesOtherCodes) {
  const auto set = [](Call& c, aclDataType y1, aclDataType y2) {
    c.y1 = ones({2, 4}, y1);
    c.y2 = ones({2, 4}, y2);
  };
  for (const aclDataType dtype : {ACL_INT4, ACL_INT32, ACL_UINT8})
    expect_refusals({{"y1, y2", [=](Call& c) { set(c, dtype, dtype); }, 161002,
                      "available: ACL_INT8, ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN"},
                     {"y2", [=](Call& c) { set(c, ACL_INT8, dtype); }, 161002, "y2Out"},
                     {"y2, HiF8", [=](Call& c) { set(c, ACL_HIFLOAT8, dtype); }, 161002, "y2Out"}});
  expect_refusals({{"unequal", [&](Call& c) { set(c, ACL_HIFLOAT8, ACL_INT8); }, 161002, "y2Out"}});
}

TEST_P(AclnnAddRmsNormQuant, RefusesRanks) {
  const Dims nine(9, 1);
  expect_refusals({
      {"x1 rank 0", [](Call& c) { c.x1 = ones({}, ACL_FLOAT16); }, 161002, "x1 has 0 dimensions"},
      {"x1 rank 9", [&](Call& c) { c.x1 = ones(nine, ACL_FLOAT16); }, 161002,
       "x1 has 9 dimensions"},
      {"gamma rank 0", [](Call& c) { c.gamma = ones({}, ACL_FLOAT16); }, 161002, "gamma"},
      {"gamma rank 9", [&](Call& c) { c.gamma = ones(nine, ACL_FLOAT16); }, 161002, "gamma"},
      {"scales rank 9", [&](Call& c) { c.scales1 = ones(nine, ACL_FLOAT); }, 161002, "scales1"},
  });
}

TEST_P(AclnnAddRmsNormQuant, RefusesShapes) {
  const aclnnStatus code = shape_code();
  const Dims five{5}, turned{4, 2};
  expect_refusals({
      {"x2", [&](Call& c) { c.x2 = ones(turned, ACL_FLOAT16); }, code, "x2"},
      {"gamma", [&](Call& c) { c.gamma = ones(five, ACL_FLOAT16); }, code, "gamma"},
      {"leading", [](Call& c) { c.gamma = ones({2}, ACL_FLOAT16); }, code, "gamma"},
      {"scales1", [&](Call& c) { c.scales1 = ones(five, ACL_FLOAT); }, code, "scales1"},
      {"all", [](Call& c) { c.scales1 = ones({2, 4}, ACL_FLOAT); }, code, "scales1"},
      {"scales2", [&](Call& c) { c.scales2 = ones(five, ACL_FLOAT); }, code, "scales2Optional"},
      {"zero", [&](Call& c) { c.zero_points1 = ones(five, ACL_INT32); }, code, "zeroPoints1Opt"},
      {"zero 2", [&](Call& c) { c.zero_points2 = ones(five, ACL_INT32); }, code, "zeroPoints2Opt"},
      {"y1", [&](Call& c) { c.y1 = ones(turned, ACL_INT8); }, code, "y1Out"},
      {"y2", [&](Call& c) { c.y2 = ones(turned, ACL_INT8); }, code, "y2Out"},
      {"x", [&](Call& c) { c.x = ones({4}, ACL_FLOAT16); }, code, "xOut"},
  });
}

class AclnnAddRmsNormQuantV2 : public AclnnAddRmsNormQuant {};
INSTANTIATE_TEST_SUITE_P(Version, AclnnAddRmsNormQuantV2, ::testing::Values(2));

TEST_P(AclnnAddRmsNormQuantV2, BetaAndTheNormItself) {
  for (const aclDataType dtype : kFloatDtypes) {
    Call call = call_for({2, 4}, {1, -1, 3, 0, 3, 1, 2, 0}, {1, -1, -1, -2, 1, -1, -2, 0}, dtype);
    call.gamma = tensor_of({1, 2, 3, 4}, {4}, dtype);
    call.norm = ones({2, 4}, dtype);
    EXPECT_EQ(compute(call), (Codes{1, -2, 3, -4, 2, 0, 0, 0}));
    EXPECT_EQ(floats_in(call.norm, dtype), (Values{1, -2, 3, -4, 2, 0, 0, 0}));
    call.beta = tensor_of({0.25f, 0.75f, -1, 0}, {4}, dtype);
    EXPECT_EQ(compute(call), (Codes{1, -1, 2, -4, 2, 1, -1, 0}));
    const Values norm{1.25f, -1.25f, 2, -4, 2.25f, 0.75f, -1, 0};
    EXPECT_EQ(floats_in(call.norm, dtype), norm);
    call.x = Tensor();
    call.norm = strided_of(Values(8, 77), {2, 4}, dtype, {1, 3}, 1);
    EXPECT_EQ(compute(call), (Codes{1, -1, 2, -4, 2, 1, -1, 0}));
    EXPECT_EQ(floats_in(call.norm, dtype), norm);
  }
}

// The codes are of the norm before it is rounded: 2048 + 1.5 in halves is 2050.
TEST_P(AclnnAddRmsNormQuantV2, RoundsTheNormOnceForItself) {
  Call call = call_for({1, 1}, {1}, {0}, ACL_FLOAT16);
  call.gamma = tensor_of({2048}, {1}, ACL_FLOAT16);
  call.beta = tensor_of({1.5f}, {1}, ACL_FLOAT16);
  call.scales1 = tensor_of({0.5f}, {1}, ACL_FLOAT);
  call.zero_points1 = tensor_of({-4090}, {1}, ACL_FLOAT);
  call.norm = device_output<uint16_t>({1, 1}, ACL_FLOAT16);
  EXPECT_EQ(compute(call), (Codes{9}));
  EXPECT_EQ(floats_in(call.norm, ACL_FLOAT16), (Values{2050}));
}

TEST_P(AclnnAddRmsNormQuantV2, GammaAsARow) {
  Call call;
  call.gamma = tensor_of({1, 2, 3, 4}, {1, 4}, ACL_FLOAT16);
  EXPECT_EQ(compute(call), (Codes{1, -4, 2, -4, 2, 0, 0, 0}));
}

TEST_P(AclnnAddRmsNormQuantV2, Refusals) {
  expect_refusals({
      {"beta", [](Call& c) { c.beta = ones({4}, ACL_FLOAT); }, 161002, "betaOptional"},
      {"beta int32", [](Call& c) { c.beta = ones({4}, ACL_INT32); }, 161002, "betaOptional"},
      {"beta shape", [](Call& c) { c.beta = ones({1}, ACL_FLOAT16); }, 161002, "betaOptional"},
      {"norm", [](Call& c) { c.norm = ones({2, 4}, ACL_FLOAT); }, 161002, "rmsNormOut"},
      {"norm shape", [](Call& c) { c.norm = ones({4}, ACL_FLOAT16); }, 161002, "rmsNormOut"},
  });
}

}  // namespace
}  // namespace npu_quant::testing
