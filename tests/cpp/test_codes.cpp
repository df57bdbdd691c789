// simd/codes.h: the code of every 16-bit float on every target, against a search among all codes.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "codes_kernel.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

using Code = CodesKernel::Code;

// float8_e4m3fn by its definition: S EEEE MMM, a bias of 7, no infinities; 0x7F and 0xFF are NaN.
double value_of_e4m3fn(int code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - 7 - 3) : std::ldexp(8 + mantissa, exponent - 7 - 3);
  return code >> 7 ? -magnitude : magnitude;
}

// The code nearest to v; of two as near, the even one. Out of range is the greatest; NaN is 0, and
// a zero keeps its sign.
uint8_t nearest_e4m3fn(float v) {
  if (v != v) return 0;
  const int sign = std::signbit(v) ? 0x80 : 0;
  double least = INFINITY;
  int nearest = sign | 0x7e;
  for (int code = sign; code <= (sign | 0x7e) && !std::isinf(v); ++code) {
    const double distance = std::fabs(value_of_e4m3fn(code) - static_cast<double>(v));
    if (distance < least || (distance == least && code % 2 == 0)) nearest = code;
    least = std::fmin(least, distance);
  }
  return static_cast<uint8_t>(nearest);
}

// An integer of a byte: rounded to nearest even, saturated; NaN is the least.
uint8_t nearest_integer(float v, float least, float greatest) {
  if (v != v) v = least;
  return static_cast<uint8_t>(
      static_cast<int>(std::nearbyint(std::fmin(std::fmax(v, least), greatest))));
}

uint8_t expected(Code code, float v) {
  switch (code) {
    case Code::int8: return nearest_integer(v, -128, 127);
    case Code::uint8: return nearest_integer(v, 0, 255);
    case Code::float8_e4m3fn: return nearest_e4m3fn(v);
  }
  return 0;
}

std::vector<float> all_values(float (*widen)(uint16_t)) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    values.push_back(widen(static_cast<uint16_t>(bits)));
  return values;
}

std::vector<uint8_t> codes_of(Target target, Code code, const std::vector<float>& values) {
  std::vector<uint8_t> codes(values.size());
  run_on<CodesKernel>(target,
                      {code, values.data(), codes.data(), static_cast<int64_t>(values.size())});
  return codes;
}

void expect_codes(const std::vector<float>& values) {
  for (const Code code : {Code::int8, Code::uint8, Code::float8_e4m3fn}) {
    std::vector<uint8_t> wanted;
    for (const float v : values) wanted.push_back(expected(code, v));
    for (const Target target : runnable_targets()) {
      const std::vector<uint8_t> codes = codes_of(target, code, values);
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(codes[i], wanted[i]) << name_of(target) << ", code " << static_cast<int>(code)
                                       << ", of " << values[i] << ", pattern " << i;
    }
  }
}

TEST(Codes, OfEveryFloat16) { expect_codes(all_values(widen_float16)); }

TEST(Codes, OfEveryBFloat16) { expect_codes(all_values(widen_bfloat16)); }

// Each middle of two codes, and the float32 numbers on either side of it.
TEST(Codes, OfFloat32NextToTies) {
  std::vector<float> values;
  for (int code = 0; code <= 0x7e; ++code) {
    const auto middle = static_cast<float>(
        code == 0x7e ? 464 : (value_of_e4m3fn(code) + value_of_e4m3fn(code + 1)) / 2);
    for (const float v : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1e9f)})
      for (const float sign : {1.0f, -1.0f}) values.push_back(sign * v);
  }
  expect_codes(values);
}

uint32_t crc32(const std::vector<uint8_t>& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

// The CRC-32 of the codes of all bfloat16 patterns in order, a byte each: it was computed apart
// from this library.
TEST(Codes, OfEveryBFloat16HaveThisChecksum) {
  const std::vector<float> values = all_values(widen_bfloat16);
  for (const Target target : runnable_targets())
    EXPECT_EQ(crc32(codes_of(target, Code::float8_e4m3fn, values)), 0x022BEF13U) << name_of(target);
}

}  // namespace
}  // namespace npu_quant::testing
