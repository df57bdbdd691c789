// aclnnDynamicBlockQuant and V2: codes, scales, the bound, and what phase 1 refuses.
#include <cmath>

#include "aclnnop/aclnn_dynamic_block_quant.h"
#include "aclnnop/aclnn_dynamic_block_quant_v2.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Values = std::vector<float>;

struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    char* const mode = round_mode.empty() ? nullptr : const_cast<char*>(round_mode.c_str());
    if (version == 1)
      return aclnnDynamicBlockQuantGetWorkspaceSize(x.get(), min_scale, mode, dst_type, rows,
                                                    columns, y.get(), scale.get(), size, executor);
    return aclnnDynamicBlockQuantV2GetWorkspaceSize(x.get(), min_scale, mode, dst_type, rows,
                                                    columns, dst_type_max, y.get(), scale.get(),
                                                    size, executor);
  }
  auto phase2() const { return version == 1 ? aclnnDynamicBlockQuant : aclnnDynamicBlockQuantV2; }

  int version = 2;
  Tensor x = tensor_of({0, 1, -2, 4, 3, -1.5f, 0.75f, -3}, {2, 4}, ACL_FLOAT16);
  double min_scale = 0;
  std::string round_mode = "rint";  // empty: NULL
  int64_t dst_type = ACL_INT8, rows = 1, columns = 128;
  double dst_type_max = 0;
  Tensor y = device_output<int8_t>({2, 4}, ACL_INT8);
  Tensor scale = device_output<float>({2, 1}, ACL_FLOAT);
};

Call call_for(const std::vector<float>& values, const Dims& shape, aclDataType dtype) {
  Call call;
  call.x = tensor_of(values, shape, dtype);
  call.y = device_output<int8_t>(shape, ACL_INT8);
  Dims blocks = shape;
  blocks.back() = (blocks.back() + 127) / 128;
  call.scale = device_output<float>(blocks, ACL_FLOAT);
  return call;
}

class AclnnDynamicBlockQuant : public OnDevice, public ::testing::WithParamInterface<int> {
 protected:
  void compute(Call& call) {
    call.version = GetParam();
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
  }
  void expect_refusals(const std::vector<Fault<Call>>& faults) {
    expect_all_refused<Call>(faults, [](Call& call) { call.version = GetParam(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Version, AclnnDynamicBlockQuant, ::testing::Values(1, 2));

TEST_P(AclnnDynamicBlockQuant, HandVectorInEveryDtype) {
  for (const aclDataType dtype : kFloatDtypes) {
    Call call = call_for({0, 1, -2, 4, 3, -1.5f, 0.75f, -3}, {2, 4}, dtype);
    compute(call);
    EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{0, 32, -64, 127, 127, -64, 32, -127}));
    EXPECT_EQ(bits_as<uint32_t>(call.scale.host<float>()[0]), 0x3d010204U);
  }
}

// The smallest halves there are: 63.5 is a tie.
TEST_P(AclnnDynamicBlockQuant, Subnormals) {
  Call call = call_for({}, {0, 2}, ACL_FLOAT16);
  call.x = device_tensor<uint16_t>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}, ACL_FLOAT16);
  call.y = device_output<int8_t>({4, 2}, ACL_INT8);
  call.scale = device_output<float>({4, 1}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{64, 127, 95, 127, 106, 127, 111, 127}));
  EXPECT_EQ(call.scale.host<float>()[3], 0x8p-24f / 127);
}

TEST_P(AclnnDynamicBlockQuant, BlocksOfARowEndWithIt) {
  std::vector<float> values(2 * 257, 0);
  values[5] = 127, values[128] = -254, values[129] = 3, values[256] = 1;
  values[257] = 63.5f, values[257 + 127] = 0.25f;
  Call call = call_for(values, {1, 2, 257}, ACL_BF16);
  compute(call);
  EXPECT_EQ(call.scale.host<float>(), (std::vector<float>{1, 2, 1 / 127.0f, 0.5f, 0, 0}));
  std::vector<int8_t> y(2 * 257, 0);
  y[5] = 127, y[128] = -127, y[129] = 2, y[256] = 127;
  y[257] = 127, y[257 + 127] = 0;
  EXPECT_EQ(call.y.host<int8_t>(), y);
}

// No scale beyond 1 / minScale; an infinity of a row then is the only one to saturate.
TEST_P(AclnnDynamicBlockQuant, Bound) {
  Call call = call_for({508, 100, -3, kInf, -kInf, 7, 1, 0.5f, 127}, {3, 3}, ACL_FLOAT16);
  call.min_scale = 0.5;
  compute(call);
  EXPECT_EQ(call.scale.host<float>(), (std::vector<float>{2, 2, 1}));
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{127, 50, -2, 127, -128, 4, 1, 0, 127}));
}

TEST_P(AclnnDynamicBlockQuant, BlocksOutOfTheOrdinary) {
  const float tiny = 0x1p-149f;
  Call call = call_for({0, -0.0f, kNaN, 1, kInf, 1, tiny, -tiny}, {4, 2}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{0, 0, 0, 0, 0, 0, 127, -128}));
  const std::vector<float> scale = call.scale.host<float>();
  EXPECT_EQ(scale[0], 0);
  EXPECT_EQ(bits_as<uint32_t>(scale[1]), 0x7fc00000U);
  EXPECT_EQ(scale[2], kInf);
  EXPECT_EQ(scale[3], 0);
}

TEST_P(AclnnDynamicBlockQuant, NoRoundModeIsRint) {
  Call call = call_for({127, 0.5f, 1.5f}, {1, 3}, ACL_FLOAT16);
  call.round_mode.clear();
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{127, 0, 2}));
}

TEST_P(AclnnDynamicBlockQuant, StridesOfInputsAndOutputs) {
  std::vector<float> x(2 * 130);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 37) - 11;
  Call plain = call_for(x, {2, 130}, ACL_FLOAT16), strided;
  compute(plain);
  strided.x = strided_of(x, {2, 130}, ACL_FLOAT16, {1, 3}, 2);
  const std::vector<int8_t> y(x.size(), 77);
  strided.y = strided_tensor<int8_t>(y, {2, 130}, ACL_INT8, {1, 2}, 5);
  strided.scale =
      strided_tensor<float>(std::vector<float>(4, 77), {2, 2}, ACL_FLOAT, {1, 3}, 1, 99);
  compute(strided);
  EXPECT_EQ(strided.y.host<int8_t>(), plain.y.host<int8_t>());
  EXPECT_EQ(strided.scale.host<float>(), plain.scale.host<float>());
  EXPECT_EQ(strided.scale.block<float>()[0], 99);
  EXPECT_EQ(strided.scale.block<float>()[3], 99);
}

TEST_P(AclnnDynamicBlockQuant, Empty) {
  for (const Dims& shape : {Dims{0, 4}, Dims{3, 0}, Dims{0, 2, 130}}) {
    Call call = call_for({}, shape, ACL_FLOAT16);
    compute(call);
  }
}

TEST_P(AclnnDynamicBlockQuant, RefusesDtypes) {
  expect_refusals({
      {"x int8", [](Call& c) { c.x = ones({2, 4}, ACL_INT8); }, 161002, "ACL_INT8"},
      {"x int32", [](Call& c) { c.x = ones({2, 4}, ACL_INT32); }, 161002, "ACL_INT32"},
      {"y float", [](Call& c) { c.y = ones({2, 4}, ACL_FLOAT); }, 161002, "yOut"},
      {"y int32", [](Call& c) { c.y = ones({2, 4}, ACL_INT32); }, 161002, "yOut"},
      {"scale", [](Call& c) { c.scale = ones({2, 1}, ACL_FLOAT16); }, 161002, "scaleOut"},
  });
}

TEST_P(AclnnDynamicBlockQuant, RefusesShapes) {
  expect_refusals({
      {"x rank 1", [](Call& c) { c.x = ones({8}, ACL_FLOAT16); }, 161002, "x has 1 dimension"},
      {"x rank 4", [](Call& c) { c.x = ones({1, 1, 2, 4}, ACL_FLOAT16); }, 161002,
       "x has 4 dimensions"},
      {"y", [](Call& c) { c.y = device_output<int8_t>({4, 2}, ACL_INT8); }, 161002, "yOut"},
      {"scale", [](Call& c) { c.scale = ones({2, 4}, ACL_FLOAT); }, 161002, "scaleOut"},
      {"scale rank", [](Call& c) { c.scale = ones({2}, ACL_FLOAT); }, 161002, "scaleOut"},
  });
}

TEST_P(AclnnDynamicBlockQuant, RefusesAttributes) {
  expect_refusals({
      {"negative", [](Call& c) { c.min_scale = -1; }, 561002, "minScale"},
      {"NaN", [](Call& c) { c.min_scale = std::nan(""); }, 561002, "minScale"},
      {"infinite", [](Call& c) { c.min_scale = 1e39; }, 561002, "minScale"},
      {"dstType", [](Call& c) { c.dst_type = 1; }, 561002, "dstType"},
      {"rows", [](Call& c) { c.rows = 2; }, 561002, "rowBlockSize"},
      {"no rows", [](Call& c) { c.rows = 0; }, 561002, "rowBlockSize"},
      {"columns", [](Call& c) { c.columns = 512; }, 561002, "colBlockSize"},
      {"one column", [](Call& c) { c.columns = 1; }, 561002, "colBlockSize"},
      {"round", [](Call& c) { c.round_mode = "round"; }, 561002, "roundMode"},
      {"hybrid", [](Call& c) { c.round_mode = "hybrid"; }, 561002, "roundMode"},
      {"no mode", [](Call& c) { c.round_mode = "xx"; }, 561002, "roundMode"},
  });
  if (GetParam() == 1) return;
  expect_refusals({
      {"other codes'", [](Call& c) { c.dst_type_max = 15; }, 561002, "dstTypeMax"},
      {"negative", [](Call& c) { c.dst_type_max = -1; }, 561002, "dstTypeMax"},
      {"NaN", [](Call& c) { c.dst_type_max = std::nan(""); }, 561002, "dstTypeMax"},
  });
}

TEST_P(AclnnDynamicBlockQuant, RefusesOtherCodes) {
  for (const aclDataType dtype : {ACL_INT4, ACL_INT32, ACL_UINT8}) {
    Call call;
    call.version = GetParam();
    call.y = ones({2, 4}, dtype);
    call.dst_type = dtype;
    expect_refused(call, 161002,
                   "available: ACL_INT8, ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN");
  }
}

void set_codes(Call& call, aclDataType dtype, const Dims& shape) {
  call.y = device_output<int8_t>(shape, dtype);
  call.dst_type = dtype;
  call.round_mode = dtype == ACL_HIFLOAT8 ? "round" : "rint";
}

TEST_P(AclnnDynamicBlockQuant, FloatCodes) {
  const struct {
    aclDataType dtype;
    std::vector<uint8_t> y;
    uint32_t scale;
  } expected[] = {
      {ACL_FLOAT8_E4M3FN, {0x00, 0x6e, 0xf6, 0x7e, 0x80, 0x66, 0x7a, 0xfe}, 0x3c124925},
      {ACL_FLOAT8_E5M2, {0x00, 0x73, 0xf7, 0x7b, 0x80, 0x6f, 0x79, 0xfb}, 0x38924925},
      {ACL_HIFLOAT8, {0x00, 0x6a, 0xec, 0x6e, 0x00, 0x68, 0x6d, 0xee}, 0x39000000},
  };
  for (const auto& one : expected) {
    Call call = call_for({0, 1, -2, 4, -0.0f, 0.5f, 3, -4}, {1, 8}, ACL_FLOAT16);
    set_codes(call, one.dtype, {1, 8});
    compute(call);
    EXPECT_EQ(call.y.host<uint8_t>(), one.y);
    EXPECT_EQ(bits_as<uint32_t>(call.scale.host<float>()[0]), one.scale);
  }
  Call bounded = call_for({1, -2, kInf, -0.0f}, {1, 4}, ACL_BF16);
  set_codes(bounded, ACL_FLOAT8_E4M3FN, {1, 4});
  bounded.min_scale = 0.5;
  compute(bounded);
  EXPECT_EQ(bounded.scale.host<float>(), Values{2});
  EXPECT_EQ(bounded.y.host<uint8_t>(), (std::vector<uint8_t>{0x30, 0xb8, 0x7e, 0x80}));
}

// Of 130 rows and columns blocks of 128 leave two: scales 1, 2, 0.5 and 0.25, where 448 is 7E.
TEST_P(AclnnDynamicBlockQuant, BlocksOfRows) {
  const struct {
    int64_t row, column;
    float value;
    uint8_t code;
  } values[] = {{0, 0, 448, 0x7e},     {127, 127, -1, 0xb8},    {5, 128, -896, 0xfe},
                {127, 129, 2, 0x38},   {128, 7, 224, 0x7e},     {129, 127, 0.5f, 0x38},
                {129, 129, 112, 0x7e}, {128, 128, -0.25f, 0xb8}};
  std::vector<float> x(130 * 130);
  std::vector<uint8_t> y(x.size());
  for (const auto& one : values) {
    const auto at = static_cast<size_t>(one.row * 130 + one.column);
    x[at] = one.value;
    y[at] = one.code;
  }
  Call call = call_for(x, {130, 130}, ACL_FLOAT16);
  set_codes(call, ACL_FLOAT8_E4M3FN, {130, 130});
  call.rows = 128;
  call.scale = device_output<float>({2, 2}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.scale.host<float>(), (Values{1, 2, 0.5f, 0.25f}));
  EXPECT_EQ(call.y.host<uint8_t>(), y);
}

TEST_P(AclnnDynamicBlockQuant, RefusesRoundModesOfOtherCodes) {
  for (const aclDataType dtype : {ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN})
    for (const char* const mode : {"", "rint", "round", "hybrid"}) {
      Call call;
      call.version = GetParam();
      set_codes(call, dtype, {2, 4});
      const bool is_good = (call.round_mode == "round") == (std::string(mode) == "round") &&
                           std::string(mode) != "hybrid";
      call.round_mode = mode;
      if (is_good)
        EXPECT_EQ(status_of(call), 0) << mode;
      else
        expect_refused(call, 561002, "roundModeOptional");
    }
}

TEST_P(AclnnDynamicBlockQuant, GreatestOfHiFloat8) {
  if (GetParam() == 1) GTEST_SKIP() << "since V2";
  Call call = call_for({30, 1, -2, 4}, {1, 4}, ACL_FLOAT16);
  set_codes(call, ACL_HIFLOAT8, {1, 4});
  call.dst_type_max = 15;
  compute(call);
  EXPECT_EQ(call.scale.host<float>(), Values{2});
  EXPECT_EQ(call.y.host<uint8_t>(), (std::vector<uint8_t>{0x2f, 0x18, 0x88, 0x10}));
  for (const double wrong : {16.0, -1.0, std::nan(""), 65536.0}) {
    call.dst_type_max = wrong;
    expect_refused(call, 561002, "dstTypeMax");
  }
}

}  // namespace
}  // namespace npu_quant::testing
