// What codes mean, and in what arrays they lie: the table of core/dtype.h as data.
#pragma once

#include <array>
#include <cfloat>
#include <string_view>

#include "core/dtype.h"

namespace npu_quant {

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
  double greatest, least_step;
  TorchCodes torch_codes = {};
  bool is_carrier_only = false;  // no caller may ask for it
};

#define NPU_QUANT_ARRAY(name, code, text, acl_name, ...) \
  {Format::name, text, acl_name, DType::name, __VA_ARGS__},
#define NPU_QUANT_CODES(name, code, carrier, text, acl_name, ...) \
  {Format::name, text, acl_name, DType::carrier, __VA_ARGS__},
inline constexpr FormatRow kFormats[] = {NPU_QUANT_FORMATS(NPU_QUANT_ARRAY, NPU_QUANT_CODES)};
#undef NPU_QUANT_ARRAY
#undef NPU_QUANT_CODES

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

// Whether two codes share a byte.
constexpr bool is_packed(Format format) {
  const FormatRow* const row = find_row(format);
  return row != nullptr && row->bits < 8;
}

inline const char* name_of(Format format) {
  const FormatRow* const row = find_row(format);
  return row != nullptr ? row->name : "other";
}

// The format of an array's own elements, and the array whose elements are such codes: other where
// they share elements, or are bits in another type.
constexpr Format format_of(DType dtype) { return static_cast<Format>(dtype); }
inline const char* name_of(DType dtype) { return name_of(format_of(dtype)); }
// What the codes are that an array of one of the types for small formats holds.
constexpr Format codes_in(DType array) {
  if (array == DType::int32) return Format::int4;
  if (array == DType::uint8) return Format::hifloat8;
  return format_of(array);
}
// How many codes share an element of an array that holds them: one where it is counted in codes.
constexpr int64_t codes_per_element(Format format, DType array) {
  return is_packed(format) && format_of(array) != format
             ? size_of(array) * 8 / find_row(format)->bits
             : 1;
}
constexpr DType plain_dtype(const FormatRow& row) {
  return format_of(row.carrier) == row.format ? row.carrier : DType::other;
}
constexpr DType plain_dtype(Format format) {
  const FormatRow* const row = find_row(format);
  return row != nullptr ? plain_dtype(*row) : DType::other;
}

}  // namespace npu_quant
