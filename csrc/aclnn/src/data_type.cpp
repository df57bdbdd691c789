#include "aclnn/src/data_type.h"

#include <cstring>

namespace npu_quant::aclnn {
namespace {

struct Row {
  int type;
  const char* ours;    // as the operators' messages name it
  const char* theirs;  // as its enumerator is named
  size_t size;         // of the bytes that hold one
};

constexpr Row kRows[] = {
    {ACL_FLOAT, "float32", "ACL_FLOAT", 4},
    {ACL_FLOAT16, "float16", "ACL_FLOAT16", 2},
    {ACL_INT8, "int8", "ACL_INT8", 1},
    {ACL_INT32, "int32", "ACL_INT32", 4},
    {ACL_UINT8, "uint8", "ACL_UINT8", 1},
    {ACL_INT16, "int16", "ACL_INT16", 2},
    {ACL_UINT16, "uint16", "ACL_UINT16", 2},
    {ACL_UINT32, "uint32", "ACL_UINT32", 4},
    {ACL_INT64, "int64", "ACL_INT64", 8},
    {ACL_UINT64, "uint64", "ACL_UINT64", 8},
    {ACL_DOUBLE, "float64", "ACL_DOUBLE", 8},
    {ACL_BOOL, "bool", "ACL_BOOL", 1},
    {ACL_STRING, "string", "ACL_STRING", 0},
    {ACL_COMPLEX64, "complex64", "ACL_COMPLEX64", 8},
    {ACL_COMPLEX128, "complex128", "ACL_COMPLEX128", 16},
    {ACL_BF16, "bfloat16", "ACL_BF16", 2},
    {ACL_INT4, "int4", "ACL_INT4", 1},
    {ACL_UINT1, "uint1", "ACL_UINT1", 1},
    {ACL_COMPLEX32, "complex32", "ACL_COMPLEX32", 4},
    {ACL_HIFLOAT8, "hifloat8", "ACL_HIFLOAT8", 1},
    {ACL_FLOAT8_E5M2, "float8_e5m2", "ACL_FLOAT8_E5M2", 1},
    {ACL_FLOAT8_E4M3FN, "float8_e4m3fn", "ACL_FLOAT8_E4M3FN", 1},
    {ACL_FLOAT8_E8M0, "float8_e8m0fnu", "ACL_FLOAT8_E8M0", 1},
    {ACL_FLOAT6_E3M2, "float6_e3m2fn", "ACL_FLOAT6_E3M2", 1},
    {ACL_FLOAT6_E2M3, "float6_e2m3fn", "ACL_FLOAT6_E2M3", 1},
    {ACL_FLOAT4_E2M1, "float4_e2m1", "ACL_FLOAT4_E2M1", 1},
    {ACL_FLOAT4_E1M2, "float4_e1m2", "ACL_FLOAT4_E1M2", 1},
    {ACL_DT_UNDEFINED, "dt_undefined", "ACL_DT_UNDEFINED", 0},
};

const Row* find(int64_t type) {
  for (const Row& row : kRows)
    if (row.type == type) return &row;
  return nullptr;
}

}  // namespace

DType dtype_of(int type) {
  const Row* const row = find(type);
  if (row == nullptr) return DType::other;
  const auto dtype = static_cast<DType>(type);
  return std::strcmp(row->ours, npu_quant::name_of(dtype)) == 0 ? dtype : DType::other;
}

const char* name_of(int type) {
  const Row* const row = find(type);
  return row != nullptr ? row->ours : "unknown";
}

const char* find_acl_name(int64_t type) {
  const Row* const row = find(type);
  return row != nullptr ? row->theirs : nullptr;
}

const char* find_acl_name(std::string_view name) {
  for (const Row& row : kRows)
    if (name == row.ours) return row.theirs;
  return nullptr;
}

// What it does not know has 8 bytes, and it does not know the types that came last.
size_t size_of(int type) {
  const Row* const row = find(type);
  return row == nullptr || type >= ACL_FLOAT6_E3M2 ? 8 : row->size;
}

}  // namespace npu_quant::aclnn

size_t aclDataTypeSize(aclDataType dataType) {
  return npu_quant::aclnn::size_of(npu_quant::aclnn::number_of(dataType));
}
