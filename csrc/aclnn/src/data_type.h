// aclDataType: the codes, their names and sizes.
#pragma once

#include <string>
#include <string_view>

#include "acl/acl_base.h"
#include "core/dtype.h"

namespace npu_quant::aclnn {

// Ours for it, or DType::other.
DType dtype_of(aclDataType type);
// As operators name it in messages: "float16", "float8_e5m2".
const char* name_of(aclDataType type);
// From such a name to "ACL_FLOAT16"; null where there is none.
const char* find_acl_name(std::string_view name);
// The same for whatever a caller gives as an aclDataType, known or not.
std::string text_of(int64_t code);

}  // namespace npu_quant::aclnn
