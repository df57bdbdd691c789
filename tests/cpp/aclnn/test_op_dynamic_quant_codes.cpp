// aclnnDynamicQuant, V1 to V4: every type of codes, groups, offsets and modes.
#include "dynamic_quant_calls.h"

namespace npu_quant::testing {
namespace {

using Call = AnyDynamicQuantCall;

class AclnnDynamicQuantCodes : public DynamicQuantVersions {};
INSTANTIATE_TEST_SUITE_P(Version, AclnnDynamicQuantCodes, ::testing::Values(1, 2, 3, 4));

TEST_P(AclnnDynamicQuantCodes, RefusesOtherCodes) {
  const std::string available =
      "available: ACL_INT8, ACL_INT4, ACL_INT32, ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN";
  expect_refusals({
      {"uint8", [](Call& c) { c.y = ones({2, 4}, ACL_UINT8); }, 161002, available.c_str()},
      {"float", [](Call& c) { c.y = ones({2, 4}, ACL_FLOAT); }, 161002, available.c_str()},
      {"fp4", [](Call& c) { c.y = ones({2, 4}, ACL_FLOAT4_E2M1); }, 161002, "yOut"},
      {"int32 as x", [](Call& c) { set_codes(c, ACL_INT32, {2, 4}, 32); }, 161002, "x has shape"},
      {"int4, odd", [](Call& c) { set_codes(c, ACL_INT4, {2, 3}, 3); }, 161002, "yOut"},
      {"int4, half", [](Call& c) { set_codes(c, ACL_INT4, {2, 2}, 2); }, 161002, "yOut has shape"},
  });
}

// x {16, 32}, y of int32 {16, 4} or of int4 {16, 32}: not {16, 32} of int32, nor int4 of 31.
TEST_P(AclnnDynamicQuantCodes, ShapesOfInt4) {
  const auto status = [](const Dims& x, aclDataType dtype, const Dims& y, bool offset) {
    Call call = dynamic_quant_of(Values(static_cast<size_t>(count_of(x)), 1), x, ACL_BF16);
    call.version = GetParam();
    set_codes(call, dtype, y, static_cast<size_t>(count_of(y)) * 4);
    if (offset) call.offset = ones({16}, ACL_FLOAT);
    call.is_symmetrical = !offset;
    return status_of(call);
  };
  for (const bool offset : {false, true}) {
    EXPECT_EQ(status({16, 32}, ACL_INT32, {16, 4}, offset), 0);
    EXPECT_EQ(status({16, 32}, ACL_INT4, {16, 32}, offset), 0);
    EXPECT_EQ(status({16, 34}, ACL_INT4, {16, 34}, offset), 0);
    EXPECT_EQ(status({16, 32}, ACL_INT32, {16, 32}, offset), 161002);
    EXPECT_EQ(status({16, 34}, ACL_INT32, {16, 4}, offset), 161002);
    EXPECT_EQ(status({16, 31}, ACL_INT4, {16, 31}, offset), 161002);
  }
}

// y of one row, its scale, and its offset where there is one.
void expect_results(const Call& call, const std::vector<uint8_t>& y, uint32_t scale,
                    uint32_t offset = 0) {
  EXPECT_EQ(call.y.block<uint8_t>(), y);
  EXPECT_EQ(bits_as<uint32_t>(call.scale.host<float>()[0]), scale);
  if (call.offset.get() != nullptr) {
    EXPECT_EQ(bits_as<uint32_t>(call.offset.host<float>()[0]), offset);
  }
}

TEST_P(AclnnDynamicQuantCodes, EveryCode) {
  const struct {
    aclDataType dtype;
    Dims shape;
    std::vector<uint8_t> y;
    uint32_t scale;
  } expected[] = {
      {ACL_INT4, {1, 8}, {0x20, 0x7d, 0x10, 0x95}, 0x3f124925},
      {ACL_INT32, {1, 1}, {0x20, 0x7d, 0x10, 0x95}, 0x3f124925},
      {ACL_FLOAT8_E4M3FN, {1, 8}, {0x00, 0x6e, 0xf6, 0x7e, 0x80, 0x66, 0x7a, 0xfe}, 0x3c124925},
      {ACL_FLOAT8_E5M2, {1, 8}, {0x00, 0x73, 0xf7, 0x7b, 0x80, 0x6f, 0x79, 0xfb}, 0x38924925},
      {ACL_HIFLOAT8, {1, 8}, {0x00, 0x6a, 0xec, 0x6e, 0x00, 0x68, 0x6d, 0xee}, 0x39000000},
  };
  for (const auto& one : expected) {
    Call call = dynamic_quant_of({0, 1, -2, 4, -0.0f, 0.5f, 3, -4}, {1, 8}, ACL_FLOAT16);
    set_codes(call, one.dtype, one.shape, one.y.size());
    compute(call);
    expect_results(call, one.y, one.scale);
  }
}

TEST_P(AclnnDynamicQuantCodes, EveryCodeWithOffsets) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  const struct {
    aclDataType dtype;
    Values x;
    Dims shape;
    std::vector<uint8_t> y;
    uint32_t scale, offset;
  } expected[] = {
      {ACL_INT4,
       {-1, 0, 1, 3, -0.5f, 2, 2.5f, -0.25f},
       {1, 8},
       {0xc8, 0x70, 0x3a, 0xb5},
       0x3e888889,
       0xc087fffe},
      {ACL_INT32,
       {-1, 0, 1, 3, -0.5f, 2, 2.5f, -0.25f},
       {1, 1},
       {0xc8, 0x70, 0x3a, 0xb5},
       0x3e888889,
       0xc087fffe},
      {ACL_FLOAT8_E4M3FN, {-1, 0, 1, 3}, {1, 4}, {0xfe, 0xf6, 0x80, 0x7e}, 0x3b924925, 0xc3600000},
      {ACL_FLOAT8_E5M2, {0, 4, -4}, {1, 3}, {0x1c, 0x7b, 0xfb}, 0x38924925, 0x3b800000},
  };
  for (const auto& one : expected) {
    Call call = dynamic_quant_of(one.x, {1, static_cast<int64_t>(one.x.size())}, ACL_FLOAT16);
    set_codes(call, one.dtype, one.shape, one.y.size());
    call.offset = device_output<float>({1}, ACL_FLOAT);
    call.is_symmetrical = false;
    compute(call);
    expect_results(call, one.y, one.scale, one.offset);
  }
}

TEST_P(AclnnDynamicQuantCodes, GreatestOfHiFloat8) {
  if (GetParam() < 4) GTEST_SKIP() << "since V4";
  Call call = dynamic_quant_of({30, 1, -2, 4}, {1, 4}, ACL_FLOAT16);
  set_codes(call, ACL_HIFLOAT8, {1, 4}, 4);
  call.dst_type_max = 15;
  compute(call);
  expect_results(call, {0x2f, 0x18, 0x88, 0x10}, 0x40000000);
  for (const float wrong : {-1.0f, kNaN, 32769.0f, 1e-7f}) {
    call.dst_type_max = wrong;
    expect_refused(call, 161002, "dstTypeMax");
  }
}

// The second expert has no rows; nobody judges the ends, and the last one counts for nothing.
TEST_P(AclnnDynamicQuantCodes, Groups) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  for (const int32_t last : {3, -5, 1 << 30}) {
    Call call = dynamic_quant_of({1, 2, 1, 2, 1, 2}, {3, 2}, ACL_FLOAT16);
    call.smooth = tensor_of({1, 1, 9, 9, 2, -1}, {3, 2}, ACL_FLOAT16);
    call.group = device_tensor<int32_t>({1, 1, last}, {3}, ACL_INT32);
    compute(call);
    EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{64, 127, 127, -127, 127, -127}));
  }
}

// A row has the first expert whose end is beyond it, or the last one; ends come after phase 1.
TEST_P(AclnnDynamicQuantCodes, EndsOfGroupsAreReadWhenTheyAreUsed) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  const int32_t most = std::numeric_limits<int32_t>::max();
  const std::pair<std::vector<int32_t>, Values> cases[] = {
      {{1, 2, 3}, {1, 2, 4}},         {{5, -1, 2}, {1, 1, 1}}, {{2, 1, 9}, {1, 1, 4}},
      {{-7, 1, -most}, {2, 4, 4}},    {{0, 0, 0}, {4, 4, 4}},  {{0, most, 7}, {2, 2, 2}},
      {{most, most, most}, {1, 1, 1}}};
  for (const auto& [ends, factors] : cases) {
    Call call = dynamic_quant_of({127, 0, 127, 0, 127, 0}, {3, 2}, ACL_FLOAT16);
    call.version = GetParam();
    call.smooth = tensor_of({1, 1, 2, 2, 4, 4}, {3, 2}, ACL_FLOAT16);
    call.group = device_tensor<int32_t>({9, 9, 9}, {3}, ACL_INT32);
    aclOpExecutor* const executor = prepare(call);
    upload(call.group.address(), ends);
    ASSERT_EQ(call.phase2()(nullptr, 0, executor, stream), 0);
    EXPECT_EQ(call.scale.host<float>(), factors);
  }
}

TEST_P(AclnnDynamicQuantCodes, Offsets) {
  if (GetParam() == 1) GTEST_SKIP() << "V1 has none";
  Call call = dynamic_quant_of({-1, 0, 1, 3, 5, 6, 7, 8}, {2, 4}, ACL_BF16);
  call.offset = device_output<float>({2}, ACL_FLOAT);
  call.is_symmetrical = false;
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{-128, -64, 0, 127, -128, -43, 42, 127}));
  EXPECT_EQ(bits_as<uint32_t>(call.scale.host<float>()[0]), 0x3c808081U);
  EXPECT_EQ(bits_as<uint32_t>(call.offset.host<float>()[0]), 0xc2807ffeU);
  EXPECT_EQ(call.offset.host<float>()[1], -553);
}

TEST_P(AclnnDynamicQuantCodes, Modes) {
  if (GetParam() < 3) GTEST_SKIP() << "since V3";
  Call call = dynamic_quant_of({1, 2, -4, 0.5f, 2, -0.0f}, {3, 2}, ACL_FLOAT16);
  call.mode = "perchannel";
  call.scale = device_output<float>({2}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{32, 127, -127, 32, 64, 0}));
  call.mode = "pertensor";
  call.scale = device_output<float>({1}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<int8_t>(), (std::vector<int8_t>{32, 64, -127, 16, 64, 0}));
}

}  // namespace
}  // namespace npu_quant::testing
