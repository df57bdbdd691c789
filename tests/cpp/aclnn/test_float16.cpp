// aclFloat16ToFloat and aclFloatToFloat16, against integers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "acl/acl.h"
#include "tensors.h"

namespace npu_quant::testing {
namespace {

constexpr uint32_t kSign = 0x80000000U;

float float_of(uint32_t bits) { return bits_as<float>(bits); }

// The half of a float's bits: nearest, ties to even; what does not fit, NaN too, is 65504.
uint16_t half_of(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000U;
  const uint32_t magnitude = bits & ~kSign;
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7BFFU);  // from 65520 on
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return static_cast<uint16_t>(sign);  // below 2^-25
  const uint32_t digits = (magnitude & 0x7FFFFFU) | 0x800000U;
  const uint32_t dropped = exponent > 112 ? 13 : 126 - exponent;
  const uint32_t half = 1U << (dropped - 1);
  const uint32_t rest = digits & ((1U << dropped) - 1);
  uint32_t kept = digits >> dropped;
  kept += rest > half || (rest == half && (kept & 1U));
  return static_cast<uint16_t>(sign | (exponent > 112 ? ((exponent - 113) << 10) + kept : kept));
}

TEST(Float16, EveryPatternIsANumber) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31U);
    const auto digits = static_cast<float>(bits & 1023U);
    const float magnitude =
        exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024.0f + digits, exponent - 25);
    const float expected = bits & 0x8000U ? -magnitude : magnitude;
    ASSERT_EQ(bits_as<uint32_t>(aclFloat16ToFloat(static_cast<aclFloat16>(bits))),
              bits_as<uint32_t>(expected))
        << bits;
  }
}

TEST(Float16, ByHand) {
  EXPECT_EQ(aclFloat16ToFloat(0x3C00), 1.0f);
  EXPECT_EQ(aclFloat16ToFloat(0xC000), -2.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(aclFloat16ToFloat(0x7BFF), 65504.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x7E00), 98304.0f);
  EXPECT_EQ(aclFloatToFloat16(1.0f), 0x3C00);
  EXPECT_EQ(aclFloatToFloat16(-0.0f), 0x8000);
  EXPECT_EQ(aclFloatToFloat16(2049.0f), 0x6800);  // ties to even
  EXPECT_EQ(aclFloatToFloat16(2051.0f), 0x6802);
  EXPECT_EQ(aclFloatToFloat16(0x1p-25f), 0x0000);
  EXPECT_EQ(aclFloatToFloat16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(aclFloatToFloat16(0x1.ffcp-15f), 0x0400);  // the largest subnormal rounds up
}

TEST(Float16, WhatIsTooLargeAndNanSaturate) {
  for (const float value : {65504.0f, 65519.996f, 65520.0f, 65536.0f, 3e38f, INFINITY}) {
    EXPECT_EQ(aclFloatToFloat16(value), 0x7BFF) << value;
    EXPECT_EQ(aclFloatToFloat16(-value), 0xFBFF) << value;
  }
  for (const uint32_t nan : {0x7FC00000U, 0x7F800001U, 0x7FFFFFFFU}) {
    EXPECT_EQ(aclFloatToFloat16(float_of(nan)), 0x7BFF);
    EXPECT_EQ(aclFloatToFloat16(float_of(nan | kSign)), 0xFBFF);
  }
}

TEST(Float16, EveryFinitePatternComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<aclFloat16>(bits);
    const bool finite = (bits & 0x7C00U) != 0x7C00U;
    ASSERT_EQ(aclFloatToFloat16(aclFloat16ToFloat(half)),
              finite ? half : (bits & 0x8000U) | 0x7BFFU)
        << bits;
  }
}

TEST(Float16, RoundingAtEveryMidpoint) {
  for (uint16_t half = 0; half < 0x7BFF; ++half) {
    const auto next = static_cast<uint16_t>(half + 1);
    const float middle = (aclFloat16ToFloat(half) + aclFloat16ToFloat(next)) / 2;
    ASSERT_EQ(aclFloatToFloat16(middle), half & 1U ? next : half) << half;
    ASSERT_EQ(aclFloatToFloat16(std::nextafter(middle, 0.0f)), half) << half;
    ASSERT_EQ(aclFloatToFloat16(std::nextafter(middle, 1e9f)), next) << half;
    ASSERT_EQ(aclFloatToFloat16(-middle), 0x8000U | (half & 1U ? next : half)) << half;
  }
}

TEST(Float16, FloatsAgreeWithIntegers) {
  ASSERT_EQ(half_of(0x3F800000U), 0x3C00);
  ASSERT_EQ(half_of(0x33000000U), 0x0000);  // 2^-25
  ASSERT_EQ(half_of(0x33000001U), 0x0001);
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 2039) {
    const auto pattern = static_cast<uint32_t>(bits);
    if (aclFloatToFloat16(float_of(pattern)) != half_of(pattern))
      FAIL() << std::hex << pattern << " gives " << aclFloatToFloat16(float_of(pattern))
             << ", expected " << half_of(pattern);
  }
}

}  // namespace
}  // namespace npu_quant::testing
