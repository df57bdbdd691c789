// What codes mean, and in what arrays they lie: the one table of formats.
#pragma once

#include <array>
#include <cfloat>
#include <string_view>

#include "core/dtype.h"

namespace npu_quant {

// A DType is what an array holds; where that is all there is to know the format has its value. The
// values are ACL's codes; torch_npu writes them as 256 + code.
enum class Format : int {
  float32 = 0,
  float16 = 1,
  int8 = 2,
  int32 = 3,
  uint8 = 4,
  int16 = 6,
  uint16 = 7,
  uint32 = 8,
  int64 = 9,
  uint64 = 10,
  float64 = 11,
  boolean = 12,
  bfloat16 = 27,
  int4 = 29,
  hifloat8 = 34,
  float8_e5m2 = 35,
  float8_e4m3fn = 36,
  float8_e8m0fnu = 37,
  float4_e2m1 = 40,
  float4_e1m2 = 41,
  other = -1,
};

// torch.ScalarType: its own, and the quantized one that is stored so; negative where torch has
// none.
struct TorchCodes {
  int own = -1, quantized = -1;
};

struct FormatRow {
  Format format;
  const char* name;
  const char* acl_name;  // of ACL's enumerator
  DType carrier;         // several codes of less than 8 bits share an element
  int bits;
  double greatest;    // finite value; of 64-bit integers the greatest double
  double least_step;  // between the codes at the bottom: 1, or the least subnormal
  TorchCodes torch_codes;
  bool is_carrier_only = false;  // no caller may ask for it
};

inline constexpr FormatRow kFormats[] = {
    // clang-format off
    {Format::float32, "float32", "ACL_FLOAT", DType::float32, 32, FLT_MAX, 0x1p-149, {6}},
    {Format::float16, "float16", "ACL_FLOAT16", DType::float16, 16, 65504, 0x1p-24, {5}},
    {Format::int8, "int8", "ACL_INT8", DType::int8, 8, 127, 1, {1, 12}},
    {Format::int32, "int32", "ACL_INT32", DType::int32, 32, 0x1.fffffffcp30, 1, {3, 14}},
    {Format::uint8, "uint8", "ACL_UINT8", DType::uint8, 8, 255, 1, {0, 13}},
    {Format::int16, "int16", "ACL_INT16", DType::int16, 16, 32767, 1, {2}},
    {Format::uint16, "uint16", "ACL_UINT16", DType::uint16, 16, 65535, 1, {27}, true},
    {Format::uint32, "uint32", "ACL_UINT32", DType::uint32, 32, 0x1.fffffffep31, 1, {28}, true},
    {Format::int64, "int64", "ACL_INT64", DType::int64, 64, 0x1.fffffffffffffp62, 1, {4}},
    {Format::uint64, "uint64", "ACL_UINT64", DType::uint64,
     64, 0x1.fffffffffffffp63, 1, {29}, true},
    {Format::float64, "float64", "ACL_DOUBLE", DType::float64, 64, DBL_MAX, 0x1p-1074, {7}},
    {Format::boolean, "bool", "ACL_BOOL", DType::boolean, 8, 1, 1, {11}},
    {Format::bfloat16, "bfloat16", "ACL_BF16", DType::bfloat16, 16, 0x1.fep127, 0x1p-133, {15}},
    {Format::int4, "int4", "ACL_INT4", DType::int32, 4, 7, 1, {16}},
    {Format::hifloat8, "hifloat8", "ACL_HIFLOAT8", DType::uint8, 8, 32768, 0x1p-22, {}},
    {Format::float8_e5m2, "float8_e5m2", "ACL_FLOAT8_E5M2", DType::float8_e5m2,
     8, 57344, 0x1p-16, {23}},
    {Format::float8_e4m3fn, "float8_e4m3fn", "ACL_FLOAT8_E4M3FN", DType::float8_e4m3fn,
     8, 448, 0x1p-9, {24}},
    {Format::float8_e8m0fnu, "float8_e8m0fnu", "ACL_FLOAT8_E8M0", DType::float8_e8m0fnu,
     8, 0x1p127, 0x1p-127, {44}},
    {Format::float4_e2m1, "float4_e2m1", "ACL_FLOAT4_E2M1", DType::uint8, 4, 6, 0.5, {}},
    {Format::float4_e1m2, "float4_e1m2", "ACL_FLOAT4_E1M2", DType::uint8, 4, 1.75, 0.25, {}},
    // clang-format on
};

// Rows by ACL's code: every call looks some up.
inline constexpr auto kRowsByCode = [] {
  std::array<const FormatRow*, 64> rows{};
  for (const FormatRow& row : kFormats) rows[static_cast<size_t>(row.format)] = &row;
  return rows;
}();

// Null for Format::other and for what is no enumerator.
constexpr const FormatRow* find_row(Format format) {
  const auto code = static_cast<size_t>(format);
  return code < kRowsByCode.size() ? kRowsByCode[code] : nullptr;
}
constexpr const FormatRow* find_row(std::string_view name) {
  for (const FormatRow& row : kFormats)
    if (name == row.name) return &row;
  return nullptr;
}

inline const char* name_of(Format format) {
  const FormatRow* const row = find_row(format);
  return row != nullptr ? row->name : "other";
}

// The format of an array's own elements, and the array whose elements are such codes: other where
// they share elements, or are bits in another type.
constexpr Format format_of(DType dtype) { return static_cast<Format>(dtype); }
inline const char* name_of(DType dtype) { return name_of(format_of(dtype)); }
constexpr DType plain_dtype(const FormatRow& row) {
  return format_of(row.carrier) == row.format ? row.carrier : DType::other;
}
constexpr DType plain_dtype(Format format) {
  const FormatRow* const row = find_row(format);
  return row != nullptr ? plain_dtype(*row) : DType::other;
}

}  // namespace npu_quant
