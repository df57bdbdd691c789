// Arrays of attributes, as operators take them.
#pragma once

#include <optional>

#include "aclnn/acl_meta.h"
#include "ops/contract/attributes.h"

namespace npu_quant::aclnn {

// How many integers there are, and the first two; of NULL none. Nothing where there is no such
// array. Not to be asked while a lock is held.
std::optional<Integers> integers_in(const aclIntArray* array);

}  // namespace npu_quant::aclnn
