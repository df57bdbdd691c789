// aclnnAscendQuant and V3: codes in each way of rounding, shapes of scales, and what phase 1
// refuses.
#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Codes = std::vector<int8_t>;

struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    if (version == 1)
      return aclnnAscendQuantGetWorkspaceSize(x.get(), scale.get(), offset.get(), sqrt_mode,
                                              round_mode, dst_type, y.get(), size, executor);
    return aclnnAscendQuantV3GetWorkspaceSize(x.get(), scale.get(), offset.get(), sqrt_mode,
                                              round_mode, dst_type, axis, y.get(), size, executor);
  }
  auto phase2() const { return version == 1 ? aclnnAscendQuant : aclnnAscendQuantV3; }

  int version = 3;
  Tensor x = tensor_of({1, -3, 4, 100, 1, -7}, {2, 3}, ACL_FLOAT);
  Tensor scale = tensor_of({2, 0.5f, -1}, {3}, ACL_FLOAT);
  Tensor offset;
  bool sqrt_mode = false;
  const char* round_mode = "round";
  int32_t dst_type = ACL_INT8, axis = -1;
  Tensor y = device_output<int8_t>({2, 3}, ACL_INT8);
};

// One scale for an x of one axis.
Call call_for(const std::vector<float>& values, float scale, aclDataType dtype = ACL_FLOAT) {
  Call call;
  const Dims shape{static_cast<int64_t>(values.size())};
  call.x = tensor_of(values, shape, dtype);
  call.scale = tensor_of({scale}, {1}, dtype);
  call.y = device_output<int8_t>(shape, ACL_INT8);
  return call;
}

class AclnnAscendQuant : public OnDevice, public ::testing::WithParamInterface<int> {
 protected:
  void expect(Call& call, const Codes& codes) {
    call.version = GetParam();
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
    EXPECT_EQ(call.y.host<int8_t>(), codes);
  }
  void expect_refusals(const std::vector<Fault<Call>>& faults) {
    expect_all_refused<Call>(faults, [](Call& call) { call.version = GetParam(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Version, AclnnAscendQuant, ::testing::Values(1, 3));

TEST_P(AclnnAscendQuant, ScalesAndOffsetsOfColumns) {
  for (const Dims& shape : {Dims{2}, Dims{1, 2}})
    for (const aclDataType dtype : kFloatDtypes) {
      Call call;
      call.x = tensor_of({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, dtype);
      call.scale = tensor_of({1, 2}, shape, dtype);
      call.offset = tensor_of({1, 2}, shape, dtype);
      call.y = device_output<int8_t>({4, 2}, ACL_INT8);
      expect(call, {1, 4, 3, 8, 5, 12, 7, 16});
    }
}

TEST_P(AclnnAscendQuant, EveryWayOfRounding) {
  const std::vector<float> x = {-2.5f, -1.5f, -0.75f, -0.5f, -0.25f, 0.25f,
                                0.5f,  0.75f, 1.5f,   2.5f,  3.5f,   -3};
  const std::pair<const char*, Codes> rounded[] = {
      {"round", {-2, -2, -1, 0, 0, 0, 0, 1, 2, 2, 4, -3}},
      {"floor", {-3, -2, -1, -1, -1, 0, 0, 0, 1, 2, 3, -3}},
      {"ceil", {-2, -1, 0, 0, 0, 1, 1, 1, 2, 3, 4, -3}},
      {"trunc", {-2, -1, 0, 0, 0, 0, 0, 0, 1, 2, 3, -3}},
  };
  for (const auto& [mode, codes] : rounded)
    for (const aclDataType dtype : kFloatDtypes) {
      SCOPED_TRACE(mode);
      Call call = call_for(x, 1, dtype);
      call.round_mode = mode;
      expect(call, codes);
    }
}

// Floor and ceil go beyond the range, which holds all that is left.
TEST_P(AclnnAscendQuant, Saturates) {
  const std::vector<float> x = {127.5f, -128.5f, 126.5f, -127.5f, 1e30f, -1e30f, kInf, -kInf, kNaN};
  const std::pair<const char*, Codes> rounded[] = {
      {"round", {127, -128, 126, -128, 127, -128, 127, -128, 0}},
      {"floor", {127, -128, 126, -128, 127, -128, 127, -128, 0}},
      {"ceil", {127, -128, 127, -127, 127, -128, 127, -128, 0}},
      {"trunc", {127, -128, 126, -127, 127, -128, 127, -128, 0}},
  };
  for (const auto& [mode, codes] : rounded) {
    SCOPED_TRACE(mode);
    Call call = call_for(x, 1);
    call.round_mode = mode;
    expect(call, codes);
  }
}

// The name is read in phase 1: the caller may do with it what it likes afterwards.
TEST_P(AclnnAscendQuant, CopiesTheNameOfTheRounding) {
  Call call = call_for({-2.5f, 1.5f}, 1);
  call.version = GetParam();
  auto mode = std::make_unique<std::string>("floor");
  call.round_mode = mode->c_str();
  aclOpExecutor* executor = prepare(call);
  mode->assign("trunc");
  mode.reset();
  ASSERT_EQ(call.phase2()(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(call.y.host<int8_t>(), (Codes{-3, 1}));
}

TEST_P(AclnnAscendQuant, OffsetIsAddedBeforeRounding) {
  Call call = call_for({0.5f, 1.5f, -0.5f, kInf, kNaN}, 1);
  call.offset = tensor_of({1}, {1}, ACL_FLOAT);
  expect(call, {2, 2, 0, 127, 0});
}

TEST_P(AclnnAscendQuant, SqrtModeMultipliesTwice) {
  Call call = call_for({1, -2, 0.25f, 0.125f}, 2, ACL_FLOAT16);
  call.sqrt_mode = true;
  expect(call, {4, -8, 1, 0});
  call.offset = tensor_of({0.5f}, {1}, ACL_FLOAT16);
  expect(call, {4, -8, 2, 1});
}

// x * scale is rounded to float32 before it is multiplied again: 2^100 * 2^30 * 2^30 is infinite,
// and 2^-140 * 2^-20 is 0 from then on.
TEST_P(AclnnAscendQuant, SqrtModeRoundsInBetween) {
  Call large = call_for({0x1p100f, -0x1p100f}, 0x1p30f);
  large.sqrt_mode = true;
  expect(large, {127, -128});
  Call tiny = call_for({0x1p-140f}, 0x1p-20f);
  tiny.sqrt_mode = true;
  tiny.round_mode = "ceil";
  expect(tiny, {0});
}

TEST_P(AclnnAscendQuant, FloatsTakeScalesOfAnyDtype) {
  for (const aclDataType dtype : kFloatDtypes) {
    Call call = call_for({1, 2.5f, -3}, 1);
    call.scale = tensor_of({2}, {1}, dtype);
    call.offset = tensor_of({-1}, {1}, dtype);
    expect(call, {1, 4, -7});
  }
}

TEST_P(AclnnAscendQuant, StridesOfInputsAndOutputs) {
  Call call;
  call.x = strided_of({1, -3, 4, 100, 1, -7}, {2, 3}, ACL_FLOAT16, {1, 4}, 3);
  call.scale = strided_of({2, 0.5f, -1}, {3}, ACL_FLOAT16, {2}, 1);
  call.offset = strided_of({0.5f, 0, 10}, {3}, ACL_FLOAT16, {3});
  call.y = strided_tensor<int8_t>(Codes(6, 77), {2, 3}, ACL_INT8, {1, 3}, 1, 99);
  call.round_mode = "floor";
  expect(call, {2, -2, 6, 127, 0, 17});
  EXPECT_EQ(call.y.block<int8_t>(), (Codes{99, 2, 127, 99, -2, 0, 99, 6, 17}));
}

TEST_P(AclnnAscendQuant, Empty) {
  Call call;
  call.x = ones({0, 3}, ACL_FLOAT);
  call.y = device_output<int8_t>({0, 3}, ACL_INT8);
  expect(call, {});
}

// The scale's and the offset's dtypes at once.
void set_scales(Call& call, aclDataType scale, aclDataType offset) {
  call.scale = ones({3}, scale);
  call.offset = ones({3}, offset);
}

TEST_P(AclnnAscendQuant, RefusesDtypes) {
  expect_refusals({
      {"x", [](Call& c) { c.x = ones({2, 3}, ACL_INT16); }, 161002, "ACL_INT16"},
      {"scale", [](Call& c) { c.scale = ones({3}, ACL_INT16); }, 161002, "scale"},
      {"offset", [](Call& c) { c.offset = ones({3}, ACL_INT16); }, 161002, "offset"},
      {"y", [](Call& c) { c.y = ones({2, 3}, ACL_FLOAT); }, 161002, "ACL_FLOAT"},
      {"unequal", [](Call& c) { set_scales(c, ACL_FLOAT16, ACL_FLOAT); }, 161002, "offset"},
      {"unequal too", [](Call& c) { set_scales(c, ACL_FLOAT, ACL_BF16); }, 161002, "offset"},
      {"half x", [](Call& c) { c.x = ones({2, 3}, ACL_FLOAT16); }, 161002, "scale"},
      {"bfloat x", [](Call& c) { c.x = ones({2, 3}, ACL_BF16); }, 161002, "scale"},
      {"dstType", [](Call& c) { c.dst_type = ACL_INT32; }, 161002, "dstType"},
      {"no dstType", [](Call& c) { c.dst_type = 1; }, 161002, "dstType"},
  });
}

TEST_P(AclnnAscendQuant, RefusesShapes) {
  expect_refusals({
      {"x rank 9", [](Call& c) { c.x = ones(Dims(9, 1), ACL_FLOAT); }, 161002,
       "x has 9 dimensions"},
      {"y", [](Call& c) { c.y = device_output<int8_t>({2, 5}, ACL_INT8); }, 161002, "y has"},
      {"y rank", [](Call& c) { c.y = device_output<int8_t>({6}, ACL_INT8); }, 161002, "y has"},
      {"scales", [](Call& c) { c.scale = ones({5}, ACL_FLOAT); }, 161002, "scale"},
      {"scale of all", [](Call& c) { c.scale = ones({2, 3}, ACL_FLOAT); }, 161002, "scale"},
      {"scale of rows", [](Call& c) { c.scale = ones({2, 1}, ACL_FLOAT); }, 161002, "scale"},
      {"offsets", [](Call& c) { c.offset = ones({5}, ACL_FLOAT); }, 161002, "offset"},
      {"offset of all", [](Call& c) { c.offset = ones({2, 3}, ACL_FLOAT); }, 161002, "offset"},
  });
}

TEST_P(AclnnAscendQuant, RefusesNamesOfRounding) {
  expect_refusals({
      {"NULL", [](Call& c) { c.round_mode = nullptr; }, 161002, "roundMode"},
      {"r", [](Call& c) { c.round_mode = "r"; }, 161002, "roundMode"},
      {"xxxx", [](Call& c) { c.round_mode = "xxxx"; }, 161002, "roundMode"},
      {"hybrid", [](Call& c) { c.round_mode = "hybrid"; }, 161002, "roundMode"},
      {"none", [](Call& c) { c.round_mode = ""; }, 161002, "roundMode"},
  });
}

// x of one axis of scale 1, to codes of that dtype: their bytes.
void set_codes(Call& call, const std::vector<float>& x, const Dims& shape, aclDataType dtype,
               size_t bytes) {
  call = call_for(x, 1);
  call.y = Tensor(Block(std::vector<uint8_t>(bytes, 77)), shape, {1}, 0, dtype);
  call.dst_type = dtype;
}

// Eight to an element of int32 or two to a byte: the same bytes, the first of two in the low
// nibble.
TEST_P(AclnnAscendQuant, Int4) {
  const std::vector<float> x = {7, 3.5f, -3.5f, 0.5f, -0.5f, 1.5f, 2.5f, -7};
  const std::pair<const char*, Codes> rounded[] = {{"round", {7, 4, -4, 0, 0, 2, 2, -7}},
                                                   {"floor", {7, 3, -4, 0, -1, 1, 2, -7}},
                                                   {"ceil", {7, 4, -3, 1, 0, 2, 3, -7}},
                                                   {"trunc", {7, 3, -3, 0, 0, 1, 2, -7}}};
  for (const auto& [mode, codes] : rounded)
    for (const aclDataType dtype : {ACL_INT4, ACL_INT32}) {
      SCOPED_TRACE(mode);
      Call call;
      set_codes(call, x, {dtype == ACL_INT4 ? 8 : 1}, dtype, 4);
      call.version = GetParam();
      call.round_mode = mode;
      ASSERT_EQ(run(stream, call.phase2(), call), 0);
      EXPECT_EQ(call.y.block<uint8_t>(), nibbles_of(codes));
    }
  EXPECT_EQ(nibbles_of(rounded[0].second), (std::vector<uint8_t>{0x47, 0x0c, 0x20, 0x92}));
}

TEST_P(AclnnAscendQuant, Int4Saturates) {
  Call call;
  set_codes(call, {7.5f, -8.5f, 8, -9, 1e30f, -kInf, kNaN, kInf, 6, -3}, {10}, ACL_INT4, 5);
  call.version = GetParam();
  call.scale = tensor_of({-2}, {1}, ACL_FLOAT);
  call.sqrt_mode = true;
  call.offset = tensor_of({-20}, {1}, ACL_FLOAT);
  ASSERT_EQ(run(stream, call.phase2(), call), 0);
  EXPECT_EQ(call.y.block<uint8_t>(), nibbles_of({7, -8, 7, -8, 7, -8, 0, 7, 4, -8}));
}

TEST_P(AclnnAscendQuant, RefusesShapesOfInt4) {
  const auto set = [](Call& c, const Dims& x, const Dims& y, aclDataType dtype) {
    c.x = ones(x, ACL_FLOAT);
    c.scale = ones({1}, ACL_FLOAT);
    c.y = ones(y, dtype);
    c.dst_type = dtype;
  };
  expect_refusals({
      {"y as x", [&](Call& c) { set(c, {2, 8}, {2, 8}, ACL_INT32); }, 161002, "y has shape"},
      {"y {2, 2}", [&](Call& c) { set(c, {2, 8}, {2, 2}, ACL_INT32); }, 161002, "y has shape"},
      {"x {2, 12}", [&](Call& c) { set(c, {2, 12}, {2, 1}, ACL_INT32); }, 161002, "x has shape"},
      {"y of bytes", [&](Call& c) { set(c, {2, 8}, {2, 4}, ACL_INT4); }, 161002, "y has shape"},
      {"odd", [&](Call& c) { set(c, {2, 3}, {2, 3}, ACL_INT4); }, 161002, "y holds two elements"},
      {"rank 0", [&](Call& c) { set(c, {}, {}, ACL_INT4); }, 161002, ""},
      {"rank 0, int32", [&](Call& c) { set(c, {}, {}, ACL_INT32); }, 161002, ""},
      {"rank 0, packed", [&](Call& c) { set(c, {}, {1}, ACL_INT32); }, 161002, ""},
      {"strides",
       [&](Call& c) {
         set(c, {2, 8}, {2, 8}, ACL_INT4);
         c.y = strided_of(std::vector<float>(16), {2, 8}, ACL_INT4, {10, 1});
       },
       161002, "contiguous"},
      {"dstType of int4", [&](Call& c) { c.dst_type = ACL_INT4; }, 161002, "dstType"},
  });
}

class AclnnAscendQuantV1 : public AclnnAscendQuant {};
INSTANTIATE_TEST_SUITE_P(Version, AclnnAscendQuantV1, ::testing::Values(1));

TEST_P(AclnnAscendQuantV1, FloatCodesAreNotAvailable) {
  for (const aclDataType dtype : {ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN}) {
    Call call;
    call.version = GetParam();
    call.y = ones({2, 3}, dtype);
    call.dst_type = dtype;
    expect_refused(call, 161002, "available: ACL_INT8, ACL_INT4, ACL_INT32");
  }
}

class AclnnAscendQuantV3 : public AclnnAscendQuant {};
INSTANTIATE_TEST_SUITE_P(Version, AclnnAscendQuantV3, ::testing::Values(3));

TEST_P(AclnnAscendQuantV3, ScalesOfRows) {
  for (const Dims& shape : {Dims{2}, Dims{2, 1}})
    for (const int32_t axis : {-2, 0}) {
      Call call;
      call.scale = tensor_of({1, 0.5f}, shape, ACL_FLOAT);
      call.offset = tensor_of({1, -1}, shape, ACL_FLOAT);
      call.axis = axis;
      expect(call, {2, -2, 5, 49, 0, -4});
    }
}

TEST_P(AclnnAscendQuantV3, EitherOfTheLastAxes) {
  Call call;
  call.x = tensor_of({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}, ACL_FLOAT16);
  call.y = device_output<int8_t>({2, 2, 2}, ACL_INT8);
  call.scale = tensor_of({1, 10}, {2}, ACL_FLOAT16);
  for (const int32_t axis : {2, -1}) {
    call.axis = axis;
    expect(call, {1, 20, 3, 40, 5, 60, 7, 80});
  }
  for (const int32_t axis : {1, -2}) {
    call.axis = axis;
    expect(call, {1, 2, 30, 40, 5, 6, 70, 80});
  }
  call.scale = tensor_of({1, 10}, {1, 2, 1}, ACL_FLOAT16);
  expect(call, {1, 2, 30, 40, 5, 6, 70, 80});
}

TEST_P(AclnnAscendQuantV3, RefusesAxesAndShapes) {
  const auto three = [](Call& c, int32_t axis) {
    c.x = ones({2, 2, 3}, ACL_FLOAT);
    c.y = ones({2, 2, 3}, ACL_INT8);
    c.scale = ones({1}, ACL_FLOAT);
    c.axis = axis;
  };
  expect_refusals({
      {"beyond", [](Call& c) { c.axis = 2; }, 161002, "axis"},
      {"before", [](Call& c) { c.axis = -3; }, 161002, "axis"},
      {"rank 3, beyond", [&](Call& c) { three(c, 3); }, 161002, "axis"},
      {"rank 3, first", [&](Call& c) { three(c, 0); }, 161002, "axis"},
      {"rank 3, first too", [&](Call& c) { three(c, -3); }, 161002, "axis"},
      {"columns' scales", [](Call& c) { c.axis = 0; }, 161002, "scale"},
      {"scale rank 3", [](Call& c) { c.scale = ones({1, 1, 3}, ACL_FLOAT); }, 161002, "scale"},
      {"scale rank 0", [](Call& c) { c.scale = ones({}, ACL_FLOAT); }, 161002, "scale"},
      {"offset rank", [](Call& c) { c.offset = ones({1, 3}, ACL_FLOAT); }, 161002, "offset"},
      {"x rank 0",
       [](Call& c) {
         c.x = ones({}, ACL_FLOAT);
         c.y = ones({}, ACL_INT8);
         c.scale = ones({1}, ACL_FLOAT);
       },
       161002, "x"},
  });
}

// An offset of 0 turns -0 into 0.
TEST_P(AclnnAscendQuantV3, FloatCodes) {
  const std::vector<float> x = {1, -1.5f, 0.3f, 448, -500, 1e-4f, -1e-4f, -0.0f};
  const std::pair<aclDataType, std::vector<uint8_t>> expected[] = {
      {ACL_FLOAT8_E4M3FN, {0x38, 0xbc, 0x2a, 0x7e, 0xfe, 0x00, 0x80, 0x80}},
      {ACL_FLOAT8_E5M2, {0x3c, 0xbe, 0x35, 0x5f, 0xe0, 0x07, 0x87, 0x80}},
      {ACL_HIFLOAT8, {0x08, 0x8c, 0x32, 0x62, 0xe2, 0x7d, 0xfd, 0x00}}};
  for (auto [dtype, codes] : expected) {
    Call call;
    set_codes(call, x, {8}, dtype, 8);
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
    EXPECT_EQ(call.y.block<uint8_t>(), codes);
    call.offset = tensor_of({0}, {1}, ACL_FLOAT);
    codes[7] = 0;
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
    EXPECT_EQ(call.y.block<uint8_t>(), codes);
  }
}

// 3 * 0.5 * 0.5 + 1 is 1.75; the ties of HiF8, as 1.0625, go away from zero.
TEST_P(AclnnAscendQuantV3, FloatCodesInSqrtMode) {
  const std::pair<aclDataType, std::vector<uint8_t>> expected[] = {
      {ACL_FLOAT8_E4M3FN, {0x3e, 0x38}},
      {ACL_FLOAT8_E5M2, {0x3f, 0x3c}},
      {ACL_HIFLOAT8, {0x0e, 0x09}}};
  for (const auto& [dtype, codes] : expected) {
    Call call;
    set_codes(call, {3, 0.25f}, {2}, dtype, 2);
    call.scale = tensor_of({0.5f}, {1}, ACL_FLOAT);
    call.offset = tensor_of({1}, {1}, ACL_FLOAT);
    call.sqrt_mode = true;
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
    EXPECT_EQ(call.y.block<uint8_t>(), codes);
  }
}

TEST_P(AclnnAscendQuantV3, FloatCodesAreRoundedOneWay) {
  for (const aclDataType dtype : {ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN})
    for (const char* const mode : {"floor", "ceil", "trunc", "hybrid"}) {
      Call call;
      set_codes(call, {1}, {1}, dtype, 1);
      ASSERT_EQ(status_of(call), 0);
      call.round_mode = mode;
      expect_refused(call, 161002, "roundMode is '" + std::string(mode));
    }
}

}  // namespace
}  // namespace npu_quant::testing
