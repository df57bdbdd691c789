// aclnnAscendAntiQuant: values, shapes of scales, and what phase 1 refuses.
#include <cmath>

#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Values = std::vector<float>;

struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    return aclnnAscendAntiQuantGetWorkspaceSize(x.get(), scale.get(), offset.get(), dst_type,
                                                sqrt_mode, y.get(), size, executor);
  }

  Tensor x = tensor_of({-128, 0, 127, 1, 2, 3}, {2, 3}, ACL_INT8);
  Tensor scale = tensor_of({0.5f, 1, 0.25f}, {3}, ACL_FLOAT);
  Tensor offset;
  int64_t dst_type = ACL_FLOAT16;
  bool sqrt_mode = false;
  Tensor y = device_output<uint16_t>({2, 3}, ACL_FLOAT16);
};

// One scale for an x of one axis.
Call call_for(const Values& codes, float scale, aclDataType dtype = ACL_FLOAT16) {
  Call call;
  const Dims shape{static_cast<int64_t>(codes.size())};
  call.x = tensor_of(codes, shape, ACL_INT8);
  call.scale = device_tensor<float>({scale}, {1}, ACL_FLOAT);
  call.dst_type = dtype;
  call.y = device_output<uint16_t>(shape, dtype);
  return call;
}

class AclnnAscendAntiQuant : public OnDevice {
 protected:
  Values compute(const Call& call) {
    EXPECT_EQ(run(stream, aclnnAscendAntiQuant, call), 0);
    return floats_in(call.y, static_cast<aclDataType>(call.dst_type));
  }
};

TEST_F(AclnnAscendAntiQuant, OneScaleAndOffset) {
  Call call = call_for({0, 1, 2, 3, 4, 5, 6, 7}, 1);
  call.offset = tensor_of({1}, {1}, ACL_FLOAT);
  compute(call);
  EXPECT_EQ(call.y.host<uint16_t>(),
            (std::vector<uint16_t>{15360, 16384, 16896, 17408, 17664, 17920, 18176, 18432}));
}

TEST_F(AclnnAscendAntiQuant, SqrtModeMultipliesTwice) {
  Call call = call_for({0, 1, 2, 3, 4, 5, 6, 7}, 2);
  call.offset = tensor_of({3}, {1}, ACL_FLOAT);
  call.sqrt_mode = true;
  compute(call);
  EXPECT_EQ(call.y.host<uint16_t>(),
            (std::vector<uint16_t>{18944, 19456, 19712, 19968, 20224, 20480, 20608, 20736}));
}

TEST_F(AclnnAscendAntiQuant, EveryDtype) {
  for (const aclDataType scale : {ACL_FLOAT, ACL_BF16})
    for (const aclDataType y : {ACL_FLOAT16, ACL_BF16}) {
      Call call;
      call.scale = tensor_of({0.5f, 1, 0.25f}, {3}, scale);
      call.offset = tensor_of({8, -1, 1}, {3}, scale);
      call.dst_type = y;
      call.y = device_output<uint16_t>({2, 3}, y);
      EXPECT_EQ(compute(call), (Values{-60, -1, 32, 4.5f, 1, 1}));
    }
}

// 127 * 0.1 is 12.7000002 in float32; halves near it are 1 / 128 apart, bfloats 1 / 16.
TEST_F(AclnnAscendAntiQuant, RoundsOnce) {
  EXPECT_EQ(compute(call_for({127}, 0.1f)), (Values{12.703125f}));
  EXPECT_EQ(compute(call_for({127}, 0.1f, ACL_BF16)), (Values{12.6875f}));
  EXPECT_EQ(compute(call_for({127, -128, 1}, 1000)), (Values{kInf, -kInf, 1000}));
  EXPECT_EQ(compute(call_for({127}, 1000, ACL_BF16)), (Values{126976}));
}

// Ties of halves: 2049 lies between 2048 and 2050, 2051 between 2050 and 2052.
TEST_F(AclnnAscendAntiQuant, TiesToEven) {
  Call call = call_for({1, 3, -1, -3}, 1);
  call.offset = tensor_of({2048}, {1}, ACL_FLOAT);
  EXPECT_EQ(compute(call), (Values{2048, 2052, 2047, 2045}));
  call.scale = tensor_of({-1}, {1}, ACL_FLOAT);
  EXPECT_EQ(compute(call), (Values{-2048, -2052, -2047, -2045}));
}

TEST_F(AclnnAscendAntiQuant, SubnormalHalves) {
  EXPECT_EQ(compute(call_for({1, 3, -1}, 0x1p-25f)), (Values{0, 0x2p-24f, 0}));
}

TEST_F(AclnnAscendAntiQuant, ScalesOutOfTheOrdinary) {
  const Values infinite = compute(call_for({1, -1, 0}, kInf));
  EXPECT_EQ(infinite[0], kInf);
  EXPECT_EQ(infinite[1], -kInf);
  EXPECT_TRUE(std::isnan(infinite[2]));
  for (const float value : compute(call_for({1, 0}, kNaN))) EXPECT_TRUE(std::isnan(value));
}

TEST_F(AclnnAscendAntiQuant, ScalesOfColumnsOrRows) {
  Call call;
  for (const Dims& shape : {Dims{3}, Dims{1, 3}}) {
    call.scale = tensor_of({1, 2, 4}, shape, ACL_FLOAT);
    call.offset = tensor_of({1, 0, -1}, shape, ACL_FLOAT);
    EXPECT_EQ(compute(call), (Values{-127, 0, 504, 2, 4, 8}));
  }
  for (const Dims& shape : {Dims{2}, Dims{2, 1}}) {
    call.scale = tensor_of({1, 2}, shape, ACL_FLOAT);
    call.offset = tensor_of({0, -1}, shape, ACL_FLOAT);
    EXPECT_EQ(compute(call), (Values{-128, 0, 127, 0, 2, 4}));
  }
  for (const Dims& shape : {Dims{1}, Dims{1, 1}}) {
    call.scale = tensor_of({2}, shape, ACL_FLOAT);
    call.offset = Tensor();
    EXPECT_EQ(compute(call), (Values{-256, 0, 254, 2, 4, 6}));
  }
}

// As many scales as rows and as columns are the columns'.
TEST_F(AclnnAscendAntiQuant, SquareMeansColumns) {
  Call call;
  call.x = tensor_of({1, 2, 3, 4}, {2, 2}, ACL_INT8);
  call.scale = tensor_of({1, 10}, {2}, ACL_FLOAT);
  call.y = device_output<uint16_t>({2, 2}, ACL_FLOAT16);
  EXPECT_EQ(compute(call), (Values{1, 20, 3, 40}));
}

TEST_F(AclnnAscendAntiQuant, LastTwoAxesOfMore) {
  Call call;
  call.x = tensor_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 2, 3}, ACL_INT8);
  call.y = device_output<uint16_t>({2, 2, 3}, ACL_FLOAT16);
  for (const Dims& shape : {Dims{2}, Dims{1, 2, 1}}) {
    call.scale = tensor_of({1, 10}, shape, ACL_FLOAT);
    EXPECT_EQ(compute(call), (Values{1, 2, 3, 40, 50, 60, 7, 8, 9, 100, 110, 120}));
  }
}

TEST_F(AclnnAscendAntiQuant, StridesOfInputsAndOutputs) {
  Call call;
  call.x = strided_of({-128, 0, 127, 1, 2, 3}, {2, 3}, ACL_INT8, {1, 4}, 3);
  call.scale = strided_of({0.5f, 1, 0.25f}, {3}, ACL_FLOAT, {2}, 1);
  call.offset = strided_of({8, -1, 1}, {3}, ACL_FLOAT, {3}, 2);
  call.y =
      strided_tensor<uint16_t>(std::vector<uint16_t>(6, 77), {2, 3}, ACL_FLOAT16, {1, 3}, 1, 99);
  EXPECT_EQ(compute(call), (Values{-60, -1, 32, 4.5f, 1, 1}));
  const std::vector<uint16_t> block = call.y.block<uint16_t>();
  EXPECT_EQ(block[0] + block[3] + block[6], 3 * 99);
}

TEST_F(AclnnAscendAntiQuant, Empty) {
  Call call;
  call.x = ones({3, 0}, ACL_INT8);
  call.y = device_output<uint16_t>({3, 0}, ACL_FLOAT16);
  call.scale = ones({1}, ACL_FLOAT);
  EXPECT_EQ(compute(call), Values{});
}

TEST_F(AclnnAscendAntiQuant, RefusesDtypes) {
  expect_all_refused<Call>({
      {"x float", [](Call& c) { c.x = ones({2, 3}, ACL_FLOAT16); }, 161002, "x has"},
      {"x uint8", [](Call& c) { c.x = ones({2, 3}, ACL_UINT8); }, 161002, "x has"},
      {"scale half", [](Call& c) { c.scale = ones({3}, ACL_FLOAT16); }, 161002, "scale"},
      {"scale int32", [](Call& c) { c.scale = ones({3}, ACL_INT32); }, 161002, "scale"},
      {"offset", [](Call& c) { c.offset = ones({3}, ACL_BF16); }, 161002, "offset"},
      {"y", [](Call& c) { c.y = ones({2, 3}, ACL_FLOAT); }, 161002, "ACL_FLOAT"},
      {"dstType", [](Call& c) { c.dst_type = ACL_BF16; }, 161002, ""},
      {"y of another", [](Call& c) { c.y = ones({2, 3}, ACL_BF16); }, 161002, ""},
      {"no dstType", [](Call& c) { c.dst_type = ACL_FLOAT; }, 161002, "dstType"},
  });
}

// A call of one axis: codes by their bytes, one scale.
Call call_of_bytes(const std::vector<uint8_t>& bytes, const Dims& shape, aclDataType dtype,
                   int64_t values, float scale = 1) {
  Call call;
  call.x = Tensor(Block(bytes), shape, contiguous_strides(shape), 0, dtype);
  call.scale = device_tensor<float>({scale}, {1}, ACL_FLOAT);
  call.y = device_output<uint16_t>({values}, ACL_FLOAT16);
  return call;
}

// The same bytes in each: an int32 comes with an axis or without.
TEST_F(AclnnAscendAntiQuant, Int4) {
  const std::vector<uint8_t> bytes = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
  const Values values = {0.5f,  1,  1.5f,  2,  2.5f,  3,  3.5f,  4,
                         -3.5f, -3, -2.5f, -2, -1.5f, -1, -0.5f, 0};
  for (const Dims& shape : {Dims{16}, Dims{2}}) {
    const aclDataType dtype = shape[0] == 16 ? ACL_INT4 : ACL_INT32;
    Call call = call_of_bytes(bytes, shape, dtype, 16, 0.5f);
    call.offset = tensor_of({1}, {1}, ACL_FLOAT);
    EXPECT_EQ(compute(call), values);
    call.scale = tensor_of({-0.5f}, {1}, ACL_BF16);
    call.offset = Tensor();
    call.sqrt_mode = true;
    EXPECT_EQ(compute(call)[9], -1.75f);
  }
  const std::vector<uint8_t> half(bytes.begin(), bytes.begin() + 4);
  Call whole = call_of_bytes(half, {}, ACL_INT32, 8, 0.5f);
  whole.offset = tensor_of({1}, {1}, ACL_FLOAT);
  EXPECT_EQ(compute(whole), Values(values.begin(), values.begin() + 8));
}

// An axis of 4 or 6 elements, which fill no int32; scales of rows and of columns.
TEST_F(AclnnAscendAntiQuant, Int4OfAnyEvenAxis) {
  Call call = call_of_bytes({0x21, 0xf3, 0x87, 0x10, 0xee, 0x76}, {3, 4}, ACL_INT4, 0);
  call.y = device_output<uint16_t>({3, 4}, ACL_FLOAT16);
  const Values codes = {1, 2, 3, -1, 7, -8, 0, 1, -2, -2, 6, 7};
  EXPECT_EQ(compute(call), codes);
  const float scales[] = {1, 2, 4, 8};
  for (const Dims& shape : {Dims{3}, Dims{3, 1}, Dims{4}, Dims{1, 4}}) {
    const bool of_rows = shape[0] == 3;
    call.scale = tensor_of(Values(scales, scales + (of_rows ? 3 : 4)), shape, ACL_FLOAT);
    Values expected;
    for (size_t i = 0; i < 12; ++i) expected.push_back(codes[i] * scales[of_rows ? i / 4 : i % 4]);
    EXPECT_EQ(compute(call), expected);
  }
}

TEST_F(AclnnAscendAntiQuant, FloatCodes) {
  const std::pair<aclDataType, std::vector<uint8_t>> codes[] = {
      {ACL_HIFLOAT8, {0x08, 0x6e, 0x6f, 0x01, 0x80}},
      {ACL_FLOAT8_E4M3FN, {0x7e, 0x80, 0x01, 0xb8, 0x7f}},
      {ACL_FLOAT8_E5M2, {0x7b, 0x7c, 0x01, 0x80, 0xfe}}};
  const Values values[] = {
      {1, 32768, kInf, 0x1p-22f}, {448, -0.0f, 0x1p-9f, -1}, {57344, kInf, 0x1p-16f, -0.0f}};
  for (size_t f = 0; f < 3; ++f) {
    const auto& [dtype, bytes] = codes[f];
    Values y = compute(call_of_bytes(bytes, {5}, dtype, 5));
    EXPECT_TRUE(std::isnan(y[4]));
    y.pop_back();
    EXPECT_EQ(y, values[f]);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(std::signbit(y[i]), std::signbit(values[f][i]));
  }
}

TEST_F(AclnnAscendAntiQuant, RefusesWithFloatCodes) {
  for (const aclDataType dtype : {ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN})
    expect_all_refused<Call>(
        {
            {"sqrtMode", [](Call& c) { c.sqrt_mode = true; }, 161002, "sqrtMode"},
            {"bfloats", [](Call& c) { c.scale = ones({1}, ACL_BF16); }, 161002, "scale"},
            {"rank 0", [=](Call& c) { c.x = ones({}, dtype); }, 161002, "x has 0 dimensions"},
        },
        [=](Call& c) { c = call_of_bytes({1, 2}, {2}, dtype, 2); });
}

TEST_F(AclnnAscendAntiQuant, RefusesShapesOfInt4) {
  expect_all_refused<Call>(
      {
          {"odd", [](Call& c) { c.x = ones({2, 7}, ACL_INT4); }, 161002, "x holds two elements"},
          {"rank 0", [](Call& c) { c.x = ones({}, ACL_INT4); }, 161002, "x holds two elements"},
          {"strides", [](Call& c) { c.x = strided_of(Values(16), {2, 8}, ACL_INT4, {1, 2}); },
           161002, "contiguous"},
          {"gaps", [](Call& c) { c.x = strided_of(Values(16), {2, 8}, ACL_INT4, {10, 1}); }, 161002,
           "contiguous"},
          {"half a byte",
           [](Call& c) { c.x = strided_of(Values(16), {2, 8}, ACL_INT4, {8, 1}, 1); }, 161002,
           "contiguous"},
          {"eight in one", [](Call& c) { c.x = ones({2, 8}, ACL_INT32); }, 161002, "y has shape"},
          {"no int32's", [](Call& c) { c.x = ones({}, ACL_INT32); }, 161002, "y has"},
      },
      [](Call& c) {
        c = call_of_bytes(std::vector<uint8_t>(8), {2, 8}, ACL_INT4, 0);
        c.y = device_output<uint16_t>({2, 8}, ACL_FLOAT16);
      });
}

// An offset of whole bytes; no elements; axes of one, whose strides say nothing.
TEST_F(AclnnAscendAntiQuant, Int4InWholeBytes) {
  Call call = call_of_bytes({}, {0, 4}, ACL_INT4, 0);
  call.y = device_output<uint16_t>({0, 4}, ACL_FLOAT16);
  EXPECT_EQ(compute(call), Values{});
  call.x = Tensor(Block(std::vector<uint8_t>{0, 0x21, 0x43}), {1, 4}, {77, 1}, 2, ACL_INT4);
  call.y = device_output<uint16_t>({1, 4}, ACL_FLOAT16);
  EXPECT_EQ(compute(call), (Values{1, 2, 3, 4}));
}

TEST_F(AclnnAscendAntiQuant, RefusesShapes) {
  const auto scales = [](Call& c, const Dims& scale, const Dims& offset) {
    c.scale = ones(scale, ACL_FLOAT);
    c.offset = ones(offset, ACL_FLOAT);
  };
  expect_all_refused<Call>({
      {"x rank 9", [](Call& c) { c.x = ones(Dims(9, 1), ACL_INT8); }, 161002, "x has 9 dimensions"},
      {"y", [](Call& c) { c.y = ones({3, 2}, ACL_FLOAT16); }, 161002, "y has"},
      {"y rank", [](Call& c) { c.y = ones({6}, ACL_FLOAT16); }, 161002, "y has"},
      {"scales", [](Call& c) { c.scale = ones({5}, ACL_FLOAT); }, 161002, "scale"},
      {"scale of all", [](Call& c) { c.scale = ones({2, 3}, ACL_FLOAT); }, 161002, "scale"},
      {"scale rank 3", [](Call& c) { c.scale = ones({1, 1, 3}, ACL_FLOAT); }, 161002, "scale"},
      {"rows' scales", [](Call& c) { c.scale = ones({1, 2}, ACL_FLOAT); }, 161002, "scale"},
      {"no scales", [](Call& c) { c.scale = ones({0}, ACL_FLOAT); }, 161002, "scale"},
      {"offset", [&](Call& c) { scales(c, {3}, {1}); }, 161002, "offset"},
      {"offset rank", [&](Call& c) { scales(c, {3}, {1, 3}); }, 161002, "offset"},
      {"one scale", [&](Call& c) { scales(c, {1, 2}, {1}); }, 161002, ""},
      {"one offset", [&](Call& c) { scales(c, {1}, {1, 2}); }, 161002, "offset"},
  });
}

// Two scales where an axis of one or none is left.
TEST_F(AclnnAscendAntiQuant, RefusesShapesOfNarrowTensors) {
  for (const int64_t columns : {0, 1}) {
    Call call;
    call.x = ones({3, columns}, ACL_INT8);
    call.y = ones({3, columns}, ACL_FLOAT16);
    call.scale = ones({2}, ACL_FLOAT);
    expect_refused(call, 161002, "scale");
    call.scale = ones({1}, ACL_FLOAT);
    call.offset = ones({2}, ACL_FLOAT);
    expect_refused(call, 161002, "offset");
  }
  Call no_axis = call_for({1}, 1);
  no_axis.x = ones({}, ACL_INT8);
  no_axis.y = ones({}, ACL_FLOAT16);
  expect_refused(no_axis, 161002, "x");
}

}  // namespace
}  // namespace npu_quant::testing
