// aclnnDynamicQuant, V1 to V4: codes, scales, and what phase 1 refuses.
#include <cmath>

#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_dynamic_quant_v2.h"
#include "aclnnop/aclnn_dynamic_quant_v3.h"
#include "aclnnop/aclnn_dynamic_quant_v4.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Values = std::vector<float>;

struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    switch (version) {
      case 1:
        return aclnnDynamicQuantGetWorkspaceSize(x.get(), smooth.get(), y.get(), scale.get(), size,
                                                 executor);
      case 2:
        return aclnnDynamicQuantV2GetWorkspaceSize(x.get(), smooth.get(), group.get(), dst_type,
                                                   y.get(), scale.get(), offset.get(), size,
                                                   executor);
      case 3:
        return aclnnDynamicQuantV3GetWorkspaceSize(x.get(), smooth.get(), group.get(), dst_type,
                                                   is_symmetrical, mode, y.get(), scale.get(),
                                                   offset.get(), size, executor);
      default:
        return aclnnDynamicQuantV4GetWorkspaceSize(x.get(), smooth.get(), group.get(), dst_type,
                                                   is_symmetrical, mode, dst_type_max, y.get(),
                                                   scale.get(), offset.get(), size, executor);
    }
  }
  auto phase2() const {
    constexpr decltype(&aclnnDynamicQuant) kPhases[] = {aclnnDynamicQuant, aclnnDynamicQuantV2,
                                                        aclnnDynamicQuantV3, aclnnDynamicQuantV4};
    return kPhases[version - 1];
  }

  int version = 4;
  Tensor x = tensor_of({0, 1, -2, 4, 3, -1.5f, 0.75f, -3}, {2, 4}, ACL_FLOAT16);
  Tensor smooth, group;
  int64_t dst_type = ACL_INT8;
  bool is_symmetrical = true;
  const char* mode = "pertoken";
  float dst_type_max = 0;
  Tensor y = device_output<int8_t>({2, 4}, ACL_INT8);
  Tensor scale = device_output<float>({2}, ACL_FLOAT);
  Tensor offset;
};

// A call for an x whose rows are tokens.
Call call_for(const std::vector<float>& values, const Dims& shape, aclDataType dtype) {
  Call call;
  call.x = tensor_of(values, shape, dtype);
  call.y = device_output<int8_t>(shape, ACL_INT8);
  call.scale = device_output<float>(Dims(shape.begin(), shape.end() - 1), ACL_FLOAT);
  return call;
}

class AclnnDynamicQuant : public OnDevice, public ::testing::WithParamInterface<int> {
 protected:
  void compute(Call& call) {
    call.version = GetParam();
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
  }
  void expect_refusals(const std::vector<Fault<Call>>& faults) {
    expect_all_refused<Call>(faults, [](Call& call) { call.version = GetParam(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Version, AclnnDynamicQuant, ::testing::Values(1, 2, 3, 4));

TEST_P(AclnnDynamicQuant, HandVectorInEveryDtype) {
  for (const aclDataType dtype : kFloatDtypes) {
    Call call = call_for({0, 1, -2, 4, 3, -1.5f, 0.75f, -3}, {2, 4}, dtype);
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
  Call call = call_for(x, {4, 32}, ACL_FLOAT16);
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
  Call call = call_for({0, -0.0f, kNaN, 1, kInf, 1, -kInf, 5, tiny, -tiny}, {5, 2}, ACL_FLOAT);
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
  Call call = call_for({0, 1}, {1, 2}, ACL_BF16);
  call.smooth = tensor_of({kInf, 1}, {2}, ACL_BF16);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{0, 0}));
  EXPECT_TRUE(std::isnan(call.scale.host<float>()[0]));
}

// Columns for rows, gaps between elements, offsets: what lies between stays as it is.
TEST_P(AclnnDynamicQuant, StridesOfInputsAndOutputs) {
  const std::vector<float> x = {1, 2, 3, 4, -5, 6, 7, 8, 9, 10, -11, 12}, smooth = {2, 1, 0.5f};
  Call plain = call_for(x, {2, 2, 3}, ACL_FLOAT16);
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
  Call plain = call_for({1, -2, 1, -2}, {2, 2}, ACL_FLOAT),
       repeated = call_for({}, {0, 2}, ACL_FLOAT);
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
  Call no_rows = call_for({}, {0, 4}, ACL_FLOAT16), no_columns = call_for({}, {3, 0}, ACL_BF16);
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

TEST_P(AclnnDynamicQuant, OtherCodesAreNotAvailable) {
  for (const aclDataType dtype : {ACL_INT4, ACL_INT32, ACL_HIFLOAT8}) {
    Call call;
    call.version = GetParam();
    call.y = ones({2, 4}, dtype);
    call.dst_type = dtype;
    expect_refused(call, 161002, dtype == ACL_INT4 ? "ACL_INT4" : "ACL_");
  }
}

// Eight int4 in an int32, and two in a byte, with shapes that fit and shapes that do not.
TEST_P(AclnnDynamicQuant, PackedCodesAreNotAvailable) {
  struct {
    aclDataType dtype;
    int64_t columns;
    Dims y;
  } const cases[] = {{ACL_INT32, 32, {16, 4}},
                     {ACL_INT32, 32, {16, 32}},
                     {ACL_INT4, 32, {16, 32}},
                     {ACL_INT4, 31, {16, 31}}};
  for (const auto& one : cases) {
    Call call =
        call_for(Values(16 * static_cast<size_t>(one.columns), 1), {16, one.columns}, ACL_BF16);
    call.version = GetParam();
    call.y = ones(one.y, one.dtype);
    call.dst_type = one.dtype;
    expect_refused(call, 161002, "");
    call.offset = ones({16}, ACL_FLOAT);
    call.is_symmetrical = false;
    expect_refused(call, 161002, "");
  }
}

// The second expert has no rows; nobody judges the ends, and the last one counts for nothing.
TEST_P(AclnnDynamicQuant, Groups) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  for (const int32_t last : {3, -5, 1 << 30}) {
    Call call = call_for({1, 2, 1, 2, 1, 2}, {3, 2}, ACL_FLOAT16);
    call.smooth = tensor_of({1, 1, 9, 9, 2, -1}, {3, 2}, ACL_FLOAT16);
    call.group = device_tensor<int32_t>({1, 1, last}, {3}, ACL_INT32);
    compute(call);
    EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{64, 127, 127, -127, 127, -127}));
  }
}

TEST_P(AclnnDynamicQuant, Offsets) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  Call call = call_for({-1, 0, 1, 3, 5, 6, 7, 8}, {2, 4}, ACL_BF16);
  call.offset = device_output<float>({2}, ACL_FLOAT);
  call.is_symmetrical = false;
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{-128, -64, 0, 127, -128, -43, 42, 127}));
  EXPECT_EQ(bits_as<uint32_t>(call.scale.host<float>()[0]), 0x3c808081U);
  EXPECT_EQ(bits_as<uint32_t>(call.offset.host<float>()[0]), 0xc2807ffeU);
  EXPECT_EQ(call.offset.host<float>()[1], -553);
}

TEST_P(AclnnDynamicQuant, Modes) {
  if (GetParam() < 3) GTEST_SKIP() << "since V3";
  Call call = call_for({1, 2, -4, 0.5f, 2, -0.0f}, {3, 2}, ACL_FLOAT16);
  call.mode = "perchannel";
  call.scale = device_output<float>({2}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{32, 127, -127, 32, 64, 0}));
  call.mode = "pertensor";
  call.scale = device_output<float>({1}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{32, 64, -127, 16, 64, 0}));
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
