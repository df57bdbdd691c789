// aclnnDynamicQuant, V1 to V4: int8 codes, scales, and what phase 1 refuses.
#include <cmath>

#include "dynamic_quant_calls.h"

namespace npu_quant::testing {
namespace {

using Call = AnyDynamicQuantCall;

class AclnnDynamicQuant : public DynamicQuantVersions {};
INSTANTIATE_TEST_SUITE_P(Version, AclnnDynamicQuant, ::testing::Values(1, 2, 3, 4));

TEST_P(AclnnDynamicQuant, HandVectorInEveryDtype) {
  for (const aclDataType dtype : kFloatDtypes) {
    Call call = dynamic_quant_of({0, 1, -2, 4, 3, -1.5f, 0.75f, -3}, {2, 4}, dtype);
    compute(call);
    EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{0, 32, -64, 127, 127, -64, 32, -127}));
    EXPECT_EQ(bits_as<uint32_t>(call.scale.host<float>()[0]), 0x3d010204U);
  }
}

// 0 to 127 in rows of 32, times 1, 33, 65, ...: no product lies near a tie.
TEST_P(AclnnDynamicQuant, SmoothScales) {
  std::vector<float> x(128), smooth(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (size_t i = 0; i < smooth.size(); ++i) smooth[i] = static_cast<float>(32 * i + 1);
  Call call = dynamic_quant_of(x, {4, 32}, ACL_FLOAT16);
  call.smooth = tensor_of(smooth, {32}, ACL_FLOAT16);
  compute(call);
  const std::vector<int8_t> y = {
      0,   0,  1,   1,   2,   3,   5,   6,  8,   11,  13,  16,  19,  22, 26,  30,  34,  38,  43,
      48,  53, 58,  64,  70,  76,  83,  89, 96,  104, 111, 119, 127, 0,  2,   4,   7,   9,   12,
      15,  18, 21,  24,  27,  31,  34,  38, 42,  46,  50,  54,  59,  63, 68,  72,  77,  82,  87,
      93,  98, 104, 109, 115, 121, 127, 0,  3,   6,   9,   12,  15,  18, 22,  25,  28,  32,  36,
      39,  43, 47,  51,  55,  59,  64,  68, 72,  77,  82,  86,  91,  96, 101, 106, 111, 116, 122,
      127, 0,  3,   6,   10,  13,  16,  20, 23,  27,  31,  34,  38,  42, 46,  50,  54,  58,  62,
      66,  71, 75,  79,  84,  88,  93,  98, 102, 107, 112, 117, 122, 127};
  EXPECT_EQ(call.y.host<int8_t>(), y);
  const float products[] = {31 * 993, 63 * 993, 95 * 993, 127 * 993};
  for (size_t row = 0; row < 4; ++row)
    EXPECT_EQ(call.scale.host<float>()[row], products[row] / 127);
}

TEST_P(AclnnDynamicQuant, RowsOutOfTheOrdinary) {
  const float tiny = 0x1p-149f;
  Call call =
      dynamic_quant_of({0, -0.0f, kNaN, 1, kInf, 1, -kInf, 5, tiny, -tiny}, {5, 2}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{0, 0, 0, 0, 0, 0, 0, 0, 127, -128}));
  const std::vector<float> scale = call.scale.host<float>();
  EXPECT_EQ(scale[0], 0);
  EXPECT_EQ(bits_as<uint32_t>(scale[1]), 0x7fc00000U);
  EXPECT_EQ(scale[2], kInf);
  EXPECT_EQ(scale[3], kInf);
  EXPECT_EQ(scale[4], 0);
}

TEST_P(AclnnDynamicQuant, ZeroTimesInfinityIsNaN) {
  Call call = dynamic_quant_of({0, 1}, {1, 2}, ACL_BF16);
  call.smooth = tensor_of({kInf, 1}, {2}, ACL_BF16);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{0, 0}));
  EXPECT_TRUE(std::isnan(call.scale.host<float>()[0]));
}

// Columns for rows, gaps between elements, offsets: what lies between stays as it is.
TEST_P(AclnnDynamicQuant, StridesOfInputsAndOutputs) {
  const std::vector<float> x = {1, 2, 3, 4, -5, 6, 7, 8, 9, 10, -11, 12}, smooth = {2, 1, 0.5f};
  Call plain = dynamic_quant_of(x, {2, 2, 3}, ACL_FLOAT16);
  plain.smooth = tensor_of(smooth, {3}, ACL_FLOAT16);
  compute(plain);
  Call strided;
  strided.x = strided_of(x, {2, 2, 3}, ACL_FLOAT16, {1, 2, 5}, 3);
  strided.smooth = strided_of(smooth, {3}, ACL_FLOAT16, {4}, 1);
  strided.y =
      strided_tensor<int8_t>(std::vector<int8_t>(12, 77), {2, 2, 3}, ACL_INT8, {1, 3, 7}, 2, 99);
  strided.scale =
      strided_tensor<float>(std::vector<float>(4, 77), {2, 2}, ACL_FLOAT, {2, 5}, 1, 99);
  compute(strided);
  EXPECT_EQ(strided.y.host<int8_t>(), plain.y.host<int8_t>());
  EXPECT_EQ(strided.scale.host<float>(), plain.scale.host<float>());
  const std::vector<float> block = strided.scale.block<float>();
  EXPECT_EQ(std::count(block.begin(), block.end(), 99), static_cast<int64_t>(block.size()) - 4);
  const std::vector<int8_t> codes = strided.y.block<int8_t>();
  EXPECT_EQ(std::count(codes.begin(), codes.end(), 99), static_cast<int64_t>(codes.size()) - 12);
}

TEST_P(AclnnDynamicQuant, OneRowForAll) {
  Call plain = dynamic_quant_of({1, -2, 1, -2}, {2, 2}, ACL_FLOAT),
       repeated = dynamic_quant_of({}, {0, 2}, ACL_FLOAT);
  compute(plain);
  repeated.x = strided_of({1, -2, 1, -2}, {2, 2}, ACL_FLOAT, {0, 1});
  repeated.y = device_output<int8_t>({2, 2}, ACL_INT8);
  repeated.scale = device_output<float>({2}, ACL_FLOAT);
  compute(repeated);
  EXPECT_EQ(repeated.y.host<int8_t>(), plain.y.host<int8_t>());
  EXPECT_EQ(repeated.scale.host<float>(), plain.scale.host<float>());
}

// Rows of nothing have a scale, 0.
TEST_P(AclnnDynamicQuant, Empty) {
  Call no_rows = dynamic_quant_of({}, {0, 4}, ACL_FLOAT16),
       no_columns = dynamic_quant_of({}, {3, 0}, ACL_BF16);
  compute(no_rows);
  compute(no_columns);
  EXPECT_EQ(no_columns.scale.host<float>(), (std::vector<float>{0, 0, 0}));
}

TEST_P(AclnnDynamicQuant, RefusesDtypes) {
  expect_refusals({
      {"x int8", [](Call& c) { c.x = ones({2, 4}, ACL_INT8); }, 161002, "ACL_INT8"},
      {"x int32", [](Call& c) { c.x = ones({2, 4}, ACL_INT32); }, 161002, "ACL_INT32"},
      {"x double", [](Call& c) { c.x = ones({2, 4}, ACL_DOUBLE); }, 161002, "ACL_DOUBLE"},
      {"smooth", [](Call& c) { c.smooth = ones({4}, ACL_BF16); }, 161002, "smoothScalesOptional"},
      {"y float", [](Call& c) { c.y = ones({2, 4}, ACL_FLOAT); }, 161002, "yOut"},
      {"y uint8", [](Call& c) { c.y = ones({2, 4}, ACL_UINT8); }, 161002, "yOut"},
      {"scale", [](Call& c) { c.scale = ones({2}, ACL_FLOAT16); }, 161002, "scaleOut"},
  });
}

TEST_P(AclnnDynamicQuant, RefusesShapes) {
  expect_refusals({
      {"x rank 1", [](Call& c) { c.x = ones({4}, ACL_FLOAT16); }, 161002, "x has 1 dimension"},
      {"x rank 9", [](Call& c) { c.x = ones(Dims(9, 1), ACL_FLOAT16); }, 161002,
       "x has 9 dimensions"},
      {"y", [](Call& c) { c.y = device_output<int8_t>({4, 2}, ACL_INT8); }, 161002, "yOut"},
      {"y rank", [](Call& c) { c.y = device_output<int8_t>({8}, ACL_INT8); }, 161002, "yOut"},
      {"scale", [](Call& c) { c.scale = ones({4}, ACL_FLOAT); }, 161002, "scaleOut"},
      {"scale rank", [](Call& c) { c.scale = ones({2, 1}, ACL_FLOAT); }, 161002, "scaleOut"},
      {"smooth length", [](Call& c) { c.smooth = ones({2}, ACL_FLOAT16); }, 161002,
       "smoothScalesOptional"},
      {"smooth rank", [](Call& c) { c.smooth = ones({1, 4}, ACL_FLOAT16); }, 161002,
       "smoothScalesOptional"},
  });
}

TEST_P(AclnnDynamicQuant, RefusesPrivateFormats) {
  Call call;
  call.version = GetParam();
  const int64_t dims[] = {2, 4};
  aclTensor* x = call.x.get();
  for (const aclFormat format : {ACL_FORMAT_FRACTAL_NZ, ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_Z}) {
    ASSERT_EQ(aclInitTensor(x, dims, 2, ACL_FLOAT16, nullptr, 0, format, dims, 2, call.x.address()),
              0);
    expect_refused(call, 161002, "x");
  }
  ASSERT_EQ(
      aclInitTensor(x, dims, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_NC, dims, 2, call.x.address()),
      0);
  EXPECT_EQ(status_of(call), 0);
}

TEST_P(AclnnDynamicQuant, RefusesGroups) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  const auto grouped = [](Call& c, const Dims& smooth, const Dims& group) {
    c.smooth = ones(smooth, ACL_FLOAT16);
    c.group = ones(group, ACL_INT32);
  };
  expect_refusals({
      {"one smooth for all", [&](Call& c) { grouped(c, {4}, {8}); }, 161002,
       ": smoothScalesOptional has 1 dimension, expected 2."},
      {"rank 2", [&](Call& c) { grouped(c, {2, 4}, {2, 1}); }, 161002, "groupIndexOptional"},
      {"none", [&](Call& c) { grouped(c, {0, 4}, {0}); }, 161002, "groupIndexOptional"},
      {"others", [&](Call& c) { grouped(c, {2, 4}, {3}); }, 161002, "smoothScalesOptional"},
      {"no smooth", [](Call& c) { c.group = ones({1}, ACL_INT32); }, 161002, "groupIndexOptional"},
      {"int64",
       [&](Call& c) {
         grouped(c, {2, 4}, {2});
         c.group = ones({2}, ACL_INT64);
       },
       161002, "groupIndexOptional has dtype ACL_INT64"},
      {"too many", [&](Call& c) { grouped(c, {1025, 4}, {1025}); }, 161002, "groupIndexOptional"},
  });
}

TEST_P(AclnnDynamicQuant, RefusesAttributes) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  expect_refusals({
      {"dstType", [](Call& c) { c.dst_type = ACL_INT32; }, 161002, "dstType"},
      {"no dstType", [](Call& c) { c.dst_type = 1; }, 161002, "dstType"},
      {"offset", [](Call& c) { c.offset = device_output<float>({3}, ACL_FLOAT); }, 161002, ""},
  });
}

TEST_P(AclnnDynamicQuant, RefusesModes) {
  if (GetParam() < 3) GTEST_SKIP() << "since V3";
  expect_refusals({
      {"asymmetric, no offset", [](Call& c) { c.is_symmetrical = false; }, 161002, "offsetOut"},
      {"symmetric with offset", [](Call& c) { c.offset = device_output<float>({2}, ACL_FLOAT); },
       161002, "offsetOut"},
      {"shape of the offset",
       [](Call& c) {
         c.is_symmetrical = false;
         c.offset = device_output<float>({1}, ACL_FLOAT);
       },
       161002, "offsetOut"},
      {"NULL mode", [](Call& c) { c.mode = nullptr; }, 161002, "quantMode"},
      {"no mode", [](Call& c) { c.mode = "perrow"; }, 161002,
       ": quantMode is 'perrow', expected 'pertoken', 'pertensor' or 'perchannel'."},
      {"scale of pertensor", [](Call& c) { c.mode = "pertensor"; }, 161002, "scaleOut"},
      {"scale of perchannel", [](Call& c) { c.mode = "perchannel"; }, 161002, "scaleOut"},
  });
  if (GetParam() < 4) return;
  expect_refusals({
      {"negative", [](Call& c) { c.dst_type_max = -1; }, 161002, "dstTypeMax"},
      {"NaN", [](Call& c) { c.dst_type_max = kNaN; }, 161002, "dstTypeMax"},
      {"large", [](Call& c) { c.dst_type_max = 32769; }, 161002, "dstTypeMax"},
      {"other codes'", [](Call& c) { c.dst_type_max = 15; }, 161002,
       ": dstTypeMax is 15, available: 0.0 (it belongs to ACL_HIFLOAT8)."},
  });
}

}  // namespace
}  // namespace npu_quant::testing
