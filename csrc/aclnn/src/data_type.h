// aclDataType: the codes, their names and sizes.
#pragma once

#include <cstring>
#include <string_view>

#include "acl/acl_base.h"
#include "core/dtype.h"

namespace npu_quant::aclnn {

// What a caller passed for an enumerator, which may be any number: read as one, it would have to be
// an enumerator's.
template <class Enum>
int number_of(const Enum& value) {
  int number;
  static_assert(sizeof number == sizeof value);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

// Ours for an aclDataType, or DType::other.
DType dtype_of(int type);
// Of the bytes that hold one; as aclDataTypeSize says.
size_t size_of(int type);
// As operators name it in messages: "float16", "float8_e5m2".
const char* name_of(int type);
// As its enumerator is named: "ACL_FLOAT16"; null where there is none.
const char* find_acl_name(int64_t type);
// The same from an operator's name for it.
const char* find_acl_name(std::string_view name);

}  // namespace npu_quant::aclnn
