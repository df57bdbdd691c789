// aclnnDynamicMxQuant, V2 and V3: codes, bytes of scales, and what phase 1 refuses.
#include <cmath>

#include "aclnnop/aclnn_dynamic_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v2.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v3.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Values = std::vector<float>;
using Bytes = std::vector<uint8_t>;

constexpr aclDataType kFloat8[] = {ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN};
constexpr aclDataType kFloat4[] = {ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2};
constexpr uint8_t kBehind = 0x5a;  // what lies behind codes of 4 bits

bool is_float4(aclDataType dtype) { return dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2; }

// Codes of 4 bits count as such, in half as many bytes, and 8 more.
Tensor codes_tensor(const Dims& shape, aclDataType dtype) {
  if (!is_float4(dtype)) return device_output<uint8_t>(shape, dtype);
  Bytes bytes(static_cast<size_t>(count_of(shape) / 2), 77);
  bytes.insert(bytes.end(), 8, kBehind);
  return Tensor(Block(bytes), shape, contiguous_strides(shape), 0, dtype);
}
Bytes codes_in(const Tensor& y, aclDataType dtype) {
  Bytes bytes = y.host<uint8_t>();
  if (!is_float4(dtype)) return bytes;
  EXPECT_EQ(Bytes(bytes.end() - 8, bytes.end()), Bytes(8, kBehind));
  bytes.resize(bytes.size() - 8);
  return bytes;
}

Dims scales_of(const Dims& shape, int64_t axis, int64_t block) {
  Dims scales = shape;
  int64_t& n =
      scales[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)];
  n = ((n + block - 1) / block + 1) / 2;
  scales.push_back(2);
  return scales;
}

struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    char* const mode = round_mode.empty() ? nullptr : const_cast<char*>(round_mode.c_str());
    if (version == 1)
      return aclnnDynamicMxQuantGetWorkspaceSize(x.get(), axis, mode, dst_type, block, alg, y.get(),
                                                 mxscale.get(), size, executor);
    if (version == 2)
      return aclnnDynamicMxQuantV2GetWorkspaceSize(x.get(), axis, mode, dst_type, block, alg,
                                                   dst_type_max, y.get(), mxscale.get(), size,
                                                   executor);
    return aclnnDynamicMxQuantV3GetWorkspaceSize(x.get(), axis, mode, dst_type, block, alg,
                                                 dst_type_max, max_low_bound, y.get(),
                                                 mxscale.get(), size, executor);
  }
  auto phase2() const {
    if (version == 1) return aclnnDynamicMxQuant;
    return version == 2 ? aclnnDynamicMxQuantV2 : aclnnDynamicMxQuantV3;
  }
  void set_codes(aclDataType dtype, const Dims& shape) {
    y = codes_tensor(shape, dtype);
    dst_type = dtype;
  }

  int version = 3;
  Tensor x = tensor_of({0, 1, -2, 4, 3, -1.5f, 0.75f, -3}, {2, 4}, ACL_FLOAT16);
  int64_t axis = -1;
  std::string round_mode = "rint";  // empty: NULL
  int64_t dst_type = ACL_FLOAT8_E4M3FN, block = 32, alg = 0;
  double dst_type_max = 0, max_low_bound = 0;
  Tensor y = codes_tensor({2, 4}, ACL_FLOAT8_E4M3FN);
  Tensor mxscale = device_output<uint8_t>({2, 1, 2}, ACL_FLOAT8_E8M0);
};

Call call_for(const Values& values, const Dims& shape, aclDataType dtype, aclDataType codes,
              int64_t axis = -1, int64_t block = 32) {
  Call call;
  call.x = tensor_of(values, shape, dtype);
  call.axis = axis;
  call.block = block;
  call.set_codes(codes, shape);
  call.mxscale = device_output<uint8_t>(scales_of(shape, axis, block), ACL_FLOAT8_E8M0);
  return call;
}

class AclnnDynamicMxQuant : public OnDevice, public ::testing::WithParamInterface<int> {
 protected:
  void compute(Call& call) {
    call.version = GetParam();
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
  }
  void expect(Call call, const Bytes& y, const Bytes& mxscale) {
    compute(call);
    EXPECT_EQ(codes_in(call.y, static_cast<aclDataType>(call.dst_type)), y);
    EXPECT_EQ(call.mxscale.host<uint8_t>(), mxscale);
  }
  void expect_refusals(const std::vector<Fault<Call>>& faults) {
    expect_all_refused<Call>(faults, [](Call& call) { call.version = GetParam(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Version, AclnnDynamicMxQuant, ::testing::Values(1, 2, 3));

// 0 8 64 512 is twice 0 4 32 256, or what 1, 1/8 and 1/64 of the power below 512 are.
TEST_P(AclnnDynamicMxQuant, Float8) {
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    Call call = call_for({0, 8, 64, 512}, {1, 4}, dtype, ACL_FLOAT8_E4M3FN);
    expect(std::move(call), {0x00, 0x48, 0x60, 0x78}, {128, 0});
    call = call_for({0, 8, 64, -512}, {1, 4}, dtype, ACL_FLOAT8_E5M2);
    expect(std::move(call), {0x00, 0x60, 0x6c, 0xf8}, {121, 0});
  }
}

// 448 has byte 127 by each rule; 512 saturates by the first one, where 449 and more do not change
// the exponent of 448.
TEST_P(AclnnDynamicMxQuant, RulesOfFloat8) {
  Call call = call_for({1, 449.5f}, {2}, ACL_FLOAT, ACL_FLOAT8_E4M3FN);
  expect(std::move(call), {0x38, 0x7e}, {127, 0});
  call = call_for({1, 449.5f}, {2}, ACL_FLOAT, ACL_FLOAT8_E4M3FN);
  call.alg = 1;
  expect(std::move(call), {0x30, 0x76}, {128, 0});
}

// 1 -2.5 0.1 7 0.3 -0.7 3.3 -5 and what remains of it.
TEST_P(AclnnDynamicMxQuant, Float4) {
  const Values x = {1, -2.5f, 0.1f, 7, 0.3f, -0.7f, 3.3f, -5};
  const struct {
    aclDataType dtype;
    const char* mode;
    int64_t alg;
    std::vector<int8_t> codes;
    uint8_t byte;
  } expected[] = {
      {ACL_FLOAT4_E2M1, "rint", 0, {2, 12, 0, 7, 1, 9, 5, 14}, 127},    // 1 -2 0 6 .5 -.5 3 -4
      {ACL_FLOAT4_E2M1, "", 0, {2, 12, 0, 7, 1, 9, 5, 14}, 127},        // NULL: rint
      {ACL_FLOAT4_E2M1, "round", 0, {2, 13, 0, 7, 1, 9, 5, 15}, 127},   // 1 -3 0 6 .5 -.5 3 -6
      {ACL_FLOAT4_E2M1, "floor", 0, {2, 13, 0, 7, 0, 10, 5, 15}, 127},  // 1 -3 0 6 0 -1 3 -6
      {ACL_FLOAT4_E2M1, "rint", 2, {1, 10, 0, 6, 0, 9, 3, 12}, 128},    // .5 -1 0 4 0 -.5 1.5 -2
      {ACL_FLOAT4_E1M2, "rint", 0, {1, 10, 0, 7, 0, 9, 3, 13}, 129},    // quarters: 1 -2 0 7 ...
  };
  for (const auto& one : expected) {
    Call call = call_for(x, {1, 8}, ACL_FLOAT, one.dtype);
    call.round_mode = one.mode;
    call.alg = one.alg;
    expect(std::move(call), nibbles_of(one.codes), {one.byte, 0});
  }
}

TEST_P(AclnnDynamicMxQuant, GreatestOfScaleAlg2) {
  if (GetParam() == 1) GTEST_SKIP() << "since V2";
  Call call = call_for({1, 6.5f}, {1, 2}, ACL_FLOAT16, ACL_FLOAT4_E2M1);
  call.alg = 2;
  call.dst_type_max = 7;  // 6 would make it 4 of 128
  expect(std::move(call), {0x72}, {127, 0});
}

TEST_P(AclnnDynamicMxQuant, LowBoundOfScaleAlg1) {
  if (GetParam() < 3) GTEST_SKIP() << "since V3";
  Call call = call_for({1, 0}, {2}, ACL_FLOAT16, ACL_FLOAT8_E4M3FN);
  call.alg = 1;
  call.max_low_bound = 448;
  expect(std::move(call), {0x38, 0x00}, {127, 0});
}

TEST_P(AclnnDynamicMxQuant, BlocksOutOfTheOrdinary) {
  Call call = call_for({kNaN, 1, -kInf, -1, 0, -0.0f, 0x1p-149f, -0x1p-140f}, {4, 2}, ACL_FLOAT,
                       ACL_FLOAT8_E4M3FN);
  expect(std::move(call), {0, 0, 0, 0, 0, 0x80, 0, 0x80}, {255, 0, 255, 0, 0, 0, 0, 0});
}

// 64 rows are two blocks, whose bytes lie side by side, and of 65 a third one is left.
TEST_P(AclnnDynamicMxQuant, PairsOfBlocksAlongAnotherAxis) {
  Values x(65 * 2, 1);
  x[2 * 3] = 2, x[2 * 40 + 1] = 4, x[2 * 64] = 8, x[2 * 64 + 1] = 16;
  const Bytes mxscale = {120, 119, 119, 121, 122, 0, 123, 0};
  Bytes y(x.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t block = i / 2 / 32, column = i % 2;
    const int byte = mxscale[block / 2 * 4 + column * 2 + block % 2];
    y[i] = static_cast<uint8_t>(0x38 + 8 * (127 - byte) + 8 * std::ilogb(x[i]));
  }
  for (const int64_t axis : {0, -2})
    expect(call_for(x, {65, 2}, ACL_BF16, ACL_FLOAT8_E4M3FN, axis), y, mxscale);
}

TEST_P(AclnnDynamicMxQuant, LongerBlocks) {
  Values x(1100, 1);
  x[70] = 2, x[1099] = 4;
  const auto call = [&](int64_t block) {
    return call_for(x, {1100}, ACL_FLOAT16, ACL_FLOAT8_E5M2, 0, block);
  };
  Call thousand = call(1024);
  compute(thousand);
  EXPECT_EQ(thousand.mxscale.host<uint8_t>(), (Bytes{113, 114}));
  Call middle = call(544);
  compute(middle);
  EXPECT_EQ(middle.mxscale.host<uint8_t>(), (Bytes{113, 112, 114, 0}));
}

// The codes of Float4's formula in double, by the numbers there are.
struct Expected {
  Expected(const Values& x, const Dims& shape, int64_t axis, aclDataType dtype) {
    const Values numbers = dtype == ACL_FLOAT4_E2M1
                               ? Values{0, .5f, 1, 1.5f, 2, 3, 4, 6}
                               : Values{0, .25f, .5f, .75f, 1, 1.25f, 1.5f, 1.75f};
    const int emax = dtype == ACL_FLOAT4_E2M1 ? 2 : 0;
    const auto along = shape.size() - static_cast<size_t>(-axis);
    const auto n = static_cast<size_t>(shape[along]);
    const auto stride = static_cast<size_t>(contiguous_strides(shape)[along]);
    const Dims of_scales = scales_of(shape, axis, 32);
    const auto pairs = static_cast<size_t>(of_scales[along]);
    codes.resize(x.size());
    mxscale.assign(static_cast<size_t>(count_of(of_scales)), 0);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t at = i / stride % n, first = i - at % 32 * stride;
      float amax = 0;
      for (size_t k = 0; k < 32 && at / 32 * 32 + k < n; ++k)
        amax = std::max(amax, std::fabs(x[first + k * stride]));
      const int byte = amax == 0 ? 0 : std::max(std::ilogb(amax) - emax + 127, 0);
      const size_t pair = (i / stride / n * pairs + at / 64) * stride + i % stride;
      mxscale[pair * 2 + at / 32 % 2] = static_cast<uint8_t>(byte);
      const double v = std::ldexp(static_cast<double>(std::fabs(x[i])), 127 - byte);
      size_t code = 0;
      for (size_t c = 1; c < 8; ++c) {
        const double closer = std::fabs(v - numbers[code]) - std::fabs(v - numbers[c]);
        if (closer > 0 || (closer == 0 && c % 2 == 0)) code = c;
      }
      codes[i] = static_cast<int8_t>(code | (std::signbit(x[i]) ? 8U : 0U));
    }
  }
  std::vector<int8_t> codes;
  Bytes mxscale;
};

// Every even last axis, along it and across it, and nothing behind the codes is touched.
TEST_P(AclnnDynamicMxQuant, Float4OfManyShapes) {
  for (const Dims& shape :
       {Dims{1, 2}, Dims{9, 2}, Dims{5, 6}, Dims{130, 14}, Dims{7, 66}, Dims{3, 2, 130},
        Dims{2, 70, 34}, Dims{64, 64}, Dims{40, 1030}, Dims{2, 70002}}) {
    Values x(static_cast<size_t>(count_of(shape)));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = std::ldexp(static_cast<float>(i * 37 % 81) - 40, static_cast<int>(i * 13 % 11) - 5);
    Dims apart = contiguous_strides(shape);
    for (int64_t& stride : apart) stride *= 3;
    for (const aclDataType dtype : kFloat4)
      for (const int64_t axis : {-1, -2})
        for (const bool strided : {false, true}) {
          SCOPED_TRACE(::testing::Message() << dtype << " along " << axis << " of " << x.size());
          const Expected expected(x, shape, axis, dtype);
          Call call = call_for(x, shape, ACL_FLOAT, dtype, axis);
          if (strided) call.x = strided_of(x, shape, ACL_FLOAT, apart, 2);
          expect(std::move(call), nibbles_of(expected.codes), expected.mxscale);
        }
  }
}

TEST_P(AclnnDynamicMxQuant, StridesOfInputsAndOutputs) {
  Values x(2 * 130);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 37) - 11;
  for (const aclDataType codes : kFloat8) {
    Call plain = call_for(x, {2, 130}, ACL_FLOAT16, codes);
    compute(plain);
    Call strided = call_for(x, {2, 130}, ACL_FLOAT16, codes);
    strided.x = strided_of(x, {2, 130}, ACL_FLOAT16, {1, 3}, 2);
    strided.y = strided_tensor<uint8_t>(Bytes(x.size(), 77), {2, 130}, codes, {1, 2}, 5);
    strided.mxscale =
        strided_tensor<uint8_t>(Bytes(2 * 3 * 2, 77), {2, 3, 2}, ACL_FLOAT8_E8M0, {1, 7, 3}, 1, 99);
    compute(strided);
    EXPECT_EQ(strided.y.host<uint8_t>(), plain.y.host<uint8_t>());
    EXPECT_EQ(strided.mxscale.host<uint8_t>(), plain.mxscale.host<uint8_t>());
    EXPECT_EQ(strided.mxscale.block<uint8_t>()[0], 99);
  }
}

TEST_P(AclnnDynamicMxQuant, Empty) {
  for (const Dims& shape : {Dims{0, 4}, Dims{3, 0}, Dims{0, 2, 130}, Dims{0}})
    for (const aclDataType codes : {ACL_FLOAT8_E5M2, ACL_FLOAT4_E2M1})
      expect(call_for({}, shape, ACL_FLOAT16, codes), {}, {});
}

TEST_P(AclnnDynamicMxQuant, RefusesDtypes) {
  const char* const codes =
      "available: ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN, ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2";
  expect_refusals({
      {"x int8", [](Call& c) { c.x = ones({2, 4}, ACL_INT8); }, 161002, "x has dtype ACL_INT8"},
      {"x double", [](Call& c) { c.x = ones({2, 4}, ACL_DOUBLE); }, 161002, "ACL_DOUBLE"},
      {"y int8", [](Call& c) { c.y = ones({2, 4}, ACL_INT8); }, 161002, codes},
      {"y hifloat8", [](Call& c) { c.set_codes(ACL_HIFLOAT8, {2, 4}); }, 161002, codes},
      {"y uint8", [](Call& c) { c.set_codes(ACL_UINT8, {2, 4}); }, 161002, codes},
      {"y int4", [](Call& c) { c.set_codes(ACL_INT4, {2, 4}); }, 161002, codes},
      {"scale uint8", [](Call& c) { c.mxscale = ones({2, 1, 2}, ACL_UINT8); }, 161002,
       "mxscaleOut has dtype ACL_UINT8, expected ACL_FLOAT8_E8M0"},
      {"scale float", [](Call& c) { c.mxscale = ones({2, 1, 2}, ACL_FLOAT); }, 161002,
       "mxscaleOut"},
  });
}

TEST_P(AclnnDynamicMxQuant, RefusesShapes) {
  expect_refusals({
      {"x rank 0", [](Call& c) { c.x = ones({}, ACL_FLOAT16); }, 161002, "x has 0 dimensions"},
      {"x rank 8", [](Call& c) { c.x = ones({1, 1, 1, 1, 1, 1, 2, 4}, ACL_FLOAT16); }, 161002,
       "x has 8 dimensions"},
      {"y", [](Call& c) { c.set_codes(ACL_FLOAT8_E4M3FN, {4, 2}); }, 161002, "yOut has shape"},
      {"y of bytes", [](Call& c) { c.set_codes(ACL_FLOAT4_E2M1, {2, 2}); }, 161002,
       "yOut has shape (2, 2), expected (2, 4)"},
      {"odd codes", [](Call& c) { c.y = device_output<uint8_t>({2, 3}, ACL_FLOAT4_E2M1); }, 161002,
       "yOut holds two elements in a byte"},
      {"codes apart",
       [](Call& c) {
         c.y = strided_tensor<uint8_t>(Bytes(8), {2, 4}, ACL_FLOAT4_E2M1, {8, 1});
         c.dst_type = ACL_FLOAT4_E2M1;
       },
       161002, "yOut holds two elements in a byte"},
      {"scale", [](Call& c) { c.mxscale = ones({2, 2, 1}, ACL_FLOAT8_E8M0); }, 161002,
       "mxscaleOut has shape (2, 2, 1), expected (2, 1, 2)"},
      {"scale rank", [](Call& c) { c.mxscale = ones({2, 2}, ACL_FLOAT8_E8M0); }, 161002,
       "mxscaleOut has shape (2, 2), expected (2, 1, 2)"},
  });
}

TEST_P(AclnnDynamicMxQuant, RefusesAttributes) {
  const auto fp4 = [](Call& c) { c.set_codes(ACL_FLOAT4_E2M1, {2, 4}); };
  expect_refusals({
      {"axis", [](Call& c) { c.axis = 2; }, 161002, "axis is 2"},
      {"low axis", [](Call& c) { c.axis = -3; }, 161002, "axis is -3"},
      {"torch_npu's number", [](Call& c) { c.dst_type = 292; }, 161002, "dstType is 292"},
      {"another type", [](Call& c) { c.dst_type = ACL_FLOAT8_E5M2; }, 161002,
       "dstType is ACL_FLOAT8_E5M2, but the output has dtype ACL_FLOAT8_E4M3FN"},
      {"no block", [](Call& c) { c.block = 0; }, 161002, "blocksize is 0"},
      {"block 48", [](Call& c) { c.block = 48; }, 161002, "blocksize is 48"},
      {"block 1056", [](Call& c) { c.block = 1056; }, 161002, "blocksize is 1056"},
      {"no mode", [](Call& c) { c.round_mode = "xx"; }, 161002, "roundModeOptional is 'xx'"},
      {"round", [](Call& c) { c.round_mode = "round"; }, 161002, "roundModeOptional is 'round'"},
      {"alg -1", [](Call& c) { c.alg = -1; }, 161002, "scaleAlg is -1"},
      {"alg 2 of float8", [](Call& c) { c.alg = 2; }, 161002, "scaleAlg is 2"},
      {"alg 1 of float4", [&](Call& c) { fp4(c), c.alg = 1; }, 161002, "scaleAlg is 1"},
      {"alg 2 of a longer block", [&](Call& c) { fp4(c), c.alg = 2, c.block = 64; }, 161002,
       "blocksize is 64, available with scaleAlg 2: 32."},
  });
  if (GetParam() == 1) return;
  expect_refusals({
      {"another alg's", [](Call& c) { c.dst_type_max = 6; }, 161002, "(it belongs to scaleAlg 2)."},
      {"small", [&](Call& c) { fp4(c), c.alg = 2, c.dst_type_max = 5; }, 161002, "dstTypeMax is 5"},
      {"NaN", [&](Call& c) { fp4(c), c.alg = 2, c.dst_type_max = std::nan(""); }, 161002,
       "dstTypeMax"},
  });
  if (GetParam() == 2) return;
  expect_refusals({
      {"another alg's", [](Call& c) { c.max_low_bound = 1; }, 161002,
       "(it belongs to scaleAlg 1)."},
      {"negative", [](Call& c) { c.alg = 1, c.max_low_bound = -1; }, 161002, "maxLowBound is -1"},
      {"NaN", [](Call& c) { c.alg = 1, c.max_low_bound = std::nan(""); }, 161002, "maxLowBound"},
      {"infinite", [](Call& c) { c.alg = 1, c.max_low_bound = 1e39; }, 161002, "maxLowBound"},
  });
}

// A NULL comes before a wrong dtype, that before a wrong value.
TEST_P(AclnnDynamicMxQuant, FaultsComeInTheirOrder) {
  Call call;
  call.version = GetParam();
  call.block = 0;
  expect_refused(call, 161002, "blocksize");
  call.mxscale = ones({2, 1, 2}, ACL_UINT8);
  expect_refused(call, 161002, "mxscaleOut");
  call.y = ones({2, 4}, ACL_INT8);
  expect_refused(call, 161002, "yOut");
  call.mxscale = Tensor();
  expect_refused(call, 161001, "mxscaleOut is NULL");
}

}  // namespace
}  // namespace npu_quant::testing
