// simd/codes.h: the code of every 16-bit float on every target, against a search among all codes,
// and the value of every code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "codes_kernel.h"
#include "core/format.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

constexpr Format kFloats[] = {Format::float8_e4m3fn, Format::float8_e5m2, Format::hifloat8};
constexpr Format kAllFloats[] = {Format::float8_e4m3fn,  Format::float8_e5m2, Format::hifloat8,
                                 Format::float8_e8m0fnu, Format::float4_e2m1, Format::float4_e1m2};

// S EEEE MMM of a bias of 7, no infinities; or S EEEEE MM of a bias of 15, as IEEE has it.
double value_of_float8(int code, int mantissa_bits, int bias, bool has_infinity) {
  const int exponent = (code & 127) >> mantissa_bits, ones = 1 << mantissa_bits;
  const int mantissa = code % ones;
  const bool all_ones = exponent == 127 >> mantissa_bits;
  double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                   : std::ldexp(ones + mantissa, exponent - bias - mantissa_bits);
  if (has_infinity && all_ones) magnitude = mantissa == 0 ? INFINITY : NAN;
  if (!has_infinity && (code & 127) == 127) magnitude = NAN;
  return code >> 7 ? -magnitude : magnitude;
}

// HiF8 as its paper has it: a sign; a dot of 0001, 001, 01, 10, 11 that says how many bits the
// exponent has, 0 to 4, of which the first is its sign and a 1 goes before the others; and a
// mantissa. A dot of 0000: a power of 2.
double value_of_hifloat8(int code) {
  const int field = code & 127;
  const double sign = code >> 7 ? -1 : 1;
  if (code == 0x80) return NAN;
  if (field == 0x6f) return sign * INFINITY;
  if (field == 0) return 0;
  if (field < 8) return sign * std::ldexp(1.0, field - 23);
  const int exponent_bits = field < 16 ? 0 : field < 32 ? 1 : field < 64 ? 2 : field < 96 ? 3 : 4;
  const int dot_bits = exponent_bits == 0 ? 4 : exponent_bits == 1 ? 3 : 2;
  const int mantissa_bits = 7 - dot_bits - exponent_bits;
  int exponent = 0;
  if (exponent_bits > 0) {
    const int bits = field >> mantissa_bits & ((1 << exponent_bits) - 1);
    const int hidden = 1 << (exponent_bits - 1);
    exponent = (bits & (hidden - 1)) + hidden;
    if (bits & hidden) exponent = -exponent;
  }
  const int mantissa = field & ((1 << mantissa_bits) - 1);
  return sign * std::ldexp(1 + std::ldexp(mantissa, -mantissa_bits), exponent);
}

double value_of(Format format, int code) {
  if (format == Format::float8_e8m0fnu) return code == 255 ? NAN : std::ldexp(1.0, code - 127);
  if (is_packed(format)) {  // S EE M, or S E MM, of a bias of 1
    const double magnitude =
        value_of_float8(code & 7, format == Format::float4_e2m1 ? 1 : 2, 1, false);
    return code & 8 ? -magnitude : magnitude;
  }
  if (format == Format::hifloat8) return value_of_hifloat8(code);
  if (format == Format::float8_e5m2) return value_of_float8(code, 2, 15, true);
  return value_of_float8(code, 3, 7, false);
}

// The finite values from 0 up, and their codes.
struct Positive {
  double value;
  int code;
};
std::vector<Positive> ascending(Format format) {
  std::vector<Positive> all;
  for (int code = 0; code < (is_packed(format) ? 8 : 128); ++code)
    if (const double value = value_of(format, code); std::isfinite(value))
      all.push_back({value, code});
  std::sort(all.begin(), all.end(), [](auto a, auto b) { return a.value < b.value; });
  return all;
}

// The code nearest to v; of two as near the even one, in hifloat8 the greater. Out of range is the
// greatest; NaN is 0; a zero keeps its sign where there is a code of it.
uint8_t nearest(Format format, const std::vector<Positive>& codes, float v) {
  if (v != v) return 0;
  const double magnitude = std::fabs(static_cast<double>(v));
  size_t at = 0;
  while (at + 1 < codes.size() && codes[at + 1].value <= magnitude) ++at;
  int code = codes[at].code;
  if (at + 1 < codes.size()) {
    const double above = codes[at + 1].value - magnitude, below = magnitude - codes[at].value;
    const bool away = format == Format::hifloat8 || code % 2 == 1;
    if (above < below || (above == below && away)) code = codes[at + 1].code;
  }
  const bool has_sign = code != 0 || format != Format::hifloat8;
  const int sign = is_packed(format) ? 8 : 0x80;
  return static_cast<uint8_t>(code | (std::signbit(v) && has_sign ? sign : 0));
}

// An integer of a byte: rounded to nearest even, saturated; NaN is `of_nan`.
uint8_t nearest_integer(float v, float least, float greatest, float of_nan) {
  if (v != v) v = of_nan;
  return static_cast<uint8_t>(
      static_cast<int>(std::nearbyint(std::fmin(std::fmax(v, least), greatest))));
}

// The power of 2 nearest to v, the greater of two as near; below 0 there is none.
uint8_t nearest_power(float v) {
  if (!(v >= 0)) return 255;
  int code = 0;
  while (code < 254 && v - std::ldexp(1.0, code - 127) >= std::ldexp(1.0, code - 126) - v) ++code;
  return static_cast<uint8_t>(code);
}

std::vector<uint8_t> expected(Format format, const std::vector<float>& values) {
  const std::vector<Positive> all = ascending(format);
  std::vector<uint8_t> codes;
  for (const float v : values) switch (format) {
      case Format::int8: codes.push_back(nearest_integer(v, -128, 127, -128)); break;
      case Format::uint8: codes.push_back(nearest_integer(v, 0, 255, 0)); break;
      case Format::int4: codes.push_back(nearest_integer(v, -8, 7, 0)); break;
      case Format::float8_e8m0fnu: codes.push_back(nearest_power(v)); break;
      default: codes.push_back(nearest(format, all, v));
    }
  return codes;
}

std::vector<uint8_t> codes_of(Target target, Format format, const std::vector<float>& values,
                              bool ordinary = false) {
  std::vector<uint8_t> codes(values.size());
  run_on<CodesKernel>(
      target, {format, ordinary, values.data(), codes.data(), static_cast<int64_t>(values.size())});
  return codes;
}

void expect_codes(Format format, const std::vector<float>& values, bool ordinary = false) {
  const std::vector<uint8_t> wanted = expected(format, values);
  for (const Target target : runnable_targets()) {
    const std::vector<uint8_t> codes = codes_of(target, format, values, ordinary);
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(codes[i], wanted[i])
          << name_of(target) << ", " << name_of(format) << " of " << values[i] << ", place " << i;
  }
}

std::vector<float> all_values(float (*widen)(uint16_t)) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    values.push_back(widen(static_cast<uint16_t>(bits)));
  return values;
}

class OfFormat : public ::testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Codes, OfFormat,
                         ::testing::Values(Format::int8, Format::uint8, Format::int4,
                                           Format::float8_e4m3fn, Format::float8_e5m2,
                                           Format::hifloat8, Format::float8_e8m0fnu,
                                           Format::float4_e2m1, Format::float4_e1m2),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(OfFormat, EveryFloat16) { expect_codes(GetParam(), all_values(widen_float16)); }

TEST_P(OfFormat, EveryBFloat16) { expect_codes(GetParam(), all_values(widen_bfloat16)); }

// Each middle of two codes, where saturation begins, and the float32 numbers on either side.
TEST(Codes, OfFloat32NextToTies) {
  for (const Format format : kFloats) {
    const std::vector<Positive> codes = ascending(format);
    std::vector<float> values, ordinary;
    for (size_t i = 0; i < codes.size(); ++i) {
      const bool is_last = i + 1 == codes.size();
      const double step = codes[i].value - codes[is_last ? i - 1 : i].value;
      const double middle =
          is_last ? codes[i].value + step / 2 : (codes[i].value + codes[i + 1].value) / 2;
      const auto tie = static_cast<float>(middle);
      for (const float v : {std::nextafter(tie, 0.0f), tie, std::nextafter(tie, 1e9f)})
        for (const float sign : {1.0f, -1.0f}) {
          values.push_back(sign * v);
          if (!is_last || v < tie) ordinary.push_back(sign * v);
        }
    }
    expect_codes(format, values);
    expect_codes(format, ordinary, true);
  }
}

TEST(Codes, OfFloat32NextToMiddlesOfPowers) {
  std::vector<float> values = {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 3.4e38f, INFINITY, -INFINITY};
  for (int code = 0; code < 254; ++code) {
    const auto middle = static_cast<float>(std::ldexp(1.5, code - 127));
    for (const float v : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, INFINITY)})
      values.insert(values.end(), {v, -v});
  }
  expect_codes(Format::float8_e8m0fnu, values);
}

TEST(Codes, OfOrdinaryValues) {
  for (const Format format : kFloats) {
    std::vector<float> values;
    for (const float v : all_values(widen_bfloat16))
      if (std::fabs(static_cast<double>(v)) <= find_row(format)->greatest) values.push_back(v);
    expect_codes(format, values, true);
  }
}

uint32_t crc32(const std::vector<uint8_t>& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

// Apart from this library, too.
TEST(Codes, OfFloat4HaveTheseChecksums) {
  for (const Target target : runnable_targets()) {
    const auto values = all_values(widen_bfloat16);
    EXPECT_EQ(crc32(codes_of(target, Format::float4_e2m1, values)), 0x198B253CU);
    EXPECT_EQ(crc32(codes_of(target, Format::float4_e1m2, values)), 0xCF467FA0U);
  }
}

std::vector<uint8_t> packed(Target target, const std::vector<uint8_t>& codes) {
  std::vector<int8_t> bytes(codes.begin(), codes.end()), nibbles(codes.size() / 2);
  std::vector<int8_t> unpacked(codes.size());
  for (size_t i = 0; i < codes.size(); i += 256)
    run_on<NibblesKernel>(target, {bytes.data() + i, nibbles.data() + i / 2, unpacked.data() + i});
  EXPECT_EQ(unpacked, bytes) << name_of(target);
  return {nibbles.begin(), nibbles.end()};
}

// The CRC-32 of the codes of all patterns in order: they were computed apart from this library.
TEST(Codes, HaveTheseChecksums) {
  struct Checksum {
    Format format;
    uint32_t of_bfloat16, of_float16;
  };
  for (const Checksum& sum : {Checksum{Format::float8_e4m3fn, 0x022BEF13, 0x7AE2B0C5},
                              Checksum{Format::float8_e5m2, 0x25C6ABA9, 0x99292C69},
                              Checksum{Format::hifloat8, 0x49B66694, 0xDFA6C0C4},
                              Checksum{Format::int4, 0xBD9621A8, 0xF142E972}})
    for (const Target target : runnable_targets())
      for (const bool wide : {true, false}) {
        auto codes =
            codes_of(target, sum.format, all_values(wide ? widen_bfloat16 : widen_float16));
        if (sum.format == Format::int4) codes = packed(target, codes);
        EXPECT_EQ(crc32(codes), wide ? sum.of_bfloat16 : sum.of_float16)
            << name_of(target) << ", " << name_of(sum.format);
      }
}

// The first of two is the low nibble: 0 to 7 and -8 to -1 are the words 0x76543210, 0xFEDCBA98.
TEST(Codes, OfFourBitsBeginWithTheLowNibble) {
  std::vector<uint8_t> codes;
  for (int i = 0; i < 256; ++i) codes.push_back(static_cast<uint8_t>(i % 16 - i % 16 / 8 * 16));
  for (const Target target : runnable_targets()) {
    const std::vector<uint8_t> bytes = packed(target, codes);
    for (int i = 0; i < 128; ++i)
      ASSERT_EQ(bytes[static_cast<size_t>(i)], 0x10 + 0x22 * (i % 8)) << name_of(target);
  }
}

TEST(Codes, HaveTheirValues) {
  std::vector<uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), uint8_t{0});
  for (const Format format : kAllFloats)
    for (const Target target : runnable_targets()) {
      std::vector<float> values(256);
      run_on<ValuesKernel>(target, {format, codes.data(), values.data()});
      for (int code = 0; code < 256; ++code) {
        const double wanted = value_of(format, code);
        const float value = values[static_cast<size_t>(code)];
        if (std::isnan(wanted))
          EXPECT_TRUE(std::isnan(value)) << name_of(target) << name_of(format) << code;
        else
          EXPECT_EQ(bits_of(value), bits_of(static_cast<float>(wanted)))
              << name_of(target) << name_of(format) << code;
      }
    }
}

}  // namespace
}  // namespace npu_quant::testing
