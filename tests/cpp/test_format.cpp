// The table of formats against what the types themselves say.
#include "core/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace npu_quant::testing {
namespace {

template <class T>
void expect_type(Format format) {
  using Limits = std::numeric_limits<T>;
  const FormatRow& row = *find_row(format);
  SCOPED_TRACE(row.name);
  EXPECT_EQ(row.bits, 8 * static_cast<int>(sizeof(T)));
  EXPECT_EQ(size_of(row.carrier), static_cast<int64_t>(sizeof(T)));
  EXPECT_EQ(row.greatest, static_cast<double>(Limits::max()));
  EXPECT_EQ(row.least_step, Limits::is_integer ? 1.0 : static_cast<double>(Limits::denorm_min()));
}

// The greatest value and the step at the bottom of a small float.
void expect_float(Format format, int mantissa_bits, int least_exponent, double greatest) {
  const FormatRow& row = *find_row(format);
  EXPECT_EQ(row.greatest, greatest) << row.name;
  EXPECT_EQ(row.least_step, std::ldexp(1.0, least_exponent - mantissa_bits)) << row.name;
}

TEST(Format, RangesOfTheMachinesTypes) {
  expect_type<float>(Format::float32);
  expect_type<double>(Format::float64);
  expect_type<int8_t>(Format::int8);
  expect_type<uint8_t>(Format::uint8);
  expect_type<int16_t>(Format::int16);
  expect_type<uint16_t>(Format::uint16);
  expect_type<int32_t>(Format::int32);
  expect_type<uint32_t>(Format::uint32);
  for (const Format format : {Format::int64, Format::uint64}) {  // no double holds their greatest
    const FormatRow& row = *find_row(format);
    EXPECT_EQ(row.greatest, std::nextafter(std::ldexp(1.0, format == Format::int64 ? 63 : 64), 0));
  }
}

TEST(Format, RangesOfSmallFloats) {
  expect_float(Format::float16, 10, -14, 65504);
  expect_float(Format::bfloat16, 7, -126, 0x1.fep127);
  expect_float(Format::float8_e5m2, 2, -14, 57344);
  expect_float(Format::float8_e4m3fn, 3, -6, 448);
  expect_float(Format::float8_e8m0fnu, 0, -127, 0x1p127);
  expect_float(Format::hifloat8, 0, -22, 32768);
  expect_float(Format::float4_e2m1, 1, 0, 6);
  expect_float(Format::float4_e1m2, 2, 0, 1.75);
}

TEST(Format, NamesAndCodesAreDistinct) {
  std::set<std::string> names;
  std::set<int> formats, torch_codes;
  size_t codes = 0;
  for (const FormatRow& row : kFormats) {
    EXPECT_TRUE(names.insert(row.name).second && names.insert(row.acl_name).second) << row.name;
    EXPECT_TRUE(formats.insert(static_cast<int>(row.format)).second) << row.name;
    for (const int code : {row.torch_codes.own, row.torch_codes.quantized}) {
      if (code < 0) continue;
      torch_codes.insert(code);
      ++codes;
    }
    EXPECT_EQ(find_row(row.name), &row);
    EXPECT_EQ(find_row(row.format), &row);
  }
  EXPECT_EQ(torch_codes.size(), codes);
}

TEST(Format, CarriersHoldTheirCodes) {
  for (const FormatRow& row : kFormats) {
    EXPECT_EQ(8 * size_of(row.carrier) % row.bits, 0) << row.name;
    EXPECT_STREQ(name_of(row.carrier), find_row(format_of(row.carrier))->name) << row.name;
  }
  EXPECT_EQ(find_row(Format::int4)->carrier, DType::int32);
  EXPECT_EQ(plain_dtype(Format::int4), DType::other);
  EXPECT_EQ(plain_dtype(Format::hifloat8), DType::other);
  EXPECT_EQ(plain_dtype(Format::float8_e5m2), DType::float8_e5m2);
  EXPECT_EQ(plain_dtype(Format::other), DType::other);
  EXPECT_STREQ(name_of(DType::other), "other");
}

TEST(Format, CodesShareElements) {
  EXPECT_EQ(codes_per_element(Format::int4, DType::int32), 8);
  EXPECT_EQ(codes_per_element(Format::int4, DType::int4), 1);
  EXPECT_EQ(codes_per_element(Format::hifloat8, DType::uint8), 1);
  EXPECT_EQ(codes_per_element(Format::int8, DType::int8), 1);
  EXPECT_EQ(codes_per_element(Format::other, DType::int32), 1);
}

// Two to a byte: what they touch are whole bytes, whatever strides say.
TEST(Format, ViewsOfInt4AreBytes) {
  std::vector<char> bytes(6);
  TensorView view = contiguous_view(bytes.data(), DType::int4, 12);
  EXPECT_EQ(view.bytes(), 6);
  EXPECT_EQ(view.bounds().begin, bytes.data());
  EXPECT_EQ(view.bounds().end, bytes.data() + 6);
}

}  // namespace
}  // namespace npu_quant::testing
