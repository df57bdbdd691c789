// Arrays of attributes and lists of tensors, as operators take them.
#pragma once

#include <optional>
#include <vector>

#include "aclnn/acl_meta.h"
#include "ops/contract/attributes.h"

namespace npu_quant::aclnn {

// How many integers there are, and the first two; of NULL none. Nothing where there is no such
// array. Not to be asked while a lock is held.
std::optional<Integers> integers_in(const aclIntArray* array);

// A list that a function was given, and the tensors that it was made of, NULL among them.
struct TensorList {
  const aclTensorList* handle = nullptr;
  std::vector<const aclTensor*> elements = {};
  bool is_live = true;  // or NULL

  bool is_given() const { return !elements.empty(); }
};
// Likewise not to be asked while a lock is held.
TensorList tensors_in(const aclTensorList* list);

}  // namespace npu_quant::aclnn
