#include "aclnn/src/data_type.h"

#include <optional>

#include "core/format.h"

namespace npu_quant::aclnn {
namespace {

struct Row {
  int type;
  const char* ours;    // as the operators' messages name it
  const char* theirs;  // as its enumerator is named
  size_t size;         // of the bytes that hold one
};

// What is no format of ours.
constexpr Row kOthers[] = {
    {ACL_STRING, "string", "ACL_STRING", 0},
    {ACL_COMPLEX64, "complex64", "ACL_COMPLEX64", 8},
    {ACL_COMPLEX128, "complex128", "ACL_COMPLEX128", 16},
    {ACL_UINT1, "uint1", "ACL_UINT1", 1},
    {ACL_COMPLEX32, "complex32", "ACL_COMPLEX32", 4},
    {ACL_FLOAT6_E3M2, "float6_e3m2fn", "ACL_FLOAT6_E3M2", 1},
    {ACL_FLOAT6_E2M3, "float6_e2m3fn", "ACL_FLOAT6_E2M3", 1},
    {ACL_DT_UNDEFINED, "dt_undefined", "ACL_DT_UNDEFINED", 0},
};

Row row_of(const FormatRow& row) {
  return {static_cast<int>(row.format), row.name, row.acl_name,
          static_cast<size_t>(row.bits > 8 ? row.bits / 8 : 1)};
}

// Where is(row) says yes.
template <class Is>
std::optional<Row> find(Is is) {
  for (const FormatRow& format : kFormats)
    if (const Row row = row_of(format); is(row)) return row;
  for (const Row& row : kOthers)
    if (is(row)) return row;
  return std::nullopt;
}

std::optional<Row> find_type(int64_t type) {
  return find([&](const Row& row) { return row.type == type; });
}

}  // namespace

DType dtype_of(int type) {
  const FormatRow* const row = find_row(static_cast<Format>(type));
  return row != nullptr ? static_cast<DType>(row->format) : DType::other;
}

const char* name_of(int type) {
  const auto row = find_type(type);
  return row ? row->ours : "unknown";
}

const char* find_acl_name(int64_t type) {
  const auto row = find_type(type);
  return row ? row->theirs : nullptr;
}

const char* find_acl_name(std::string_view name) {
  const auto row = find([&](const Row& known) { return name == known.ours; });
  return row ? row->theirs : nullptr;
}

// What it does not know has 8 bytes, and it does not know the types that came last.
size_t size_of(int type) {
  const auto row = find_type(type);
  return !row || type >= ACL_FLOAT6_E3M2 ? 8 : row->size;
}

}  // namespace npu_quant::aclnn

size_t aclDataTypeSize(aclDataType dataType) {
  return npu_quant::aclnn::size_of(npu_quant::aclnn::number_of(dataType));
}
