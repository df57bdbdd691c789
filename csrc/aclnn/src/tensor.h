// aclTensor: what a caller describes, and the view an operator gets of it.
#pragma once

#include <optional>
#include <vector>

#include "aclnn/acl_meta.h"
#include "aclnn/src/registry.h"
#include "core/tensor.h"

namespace npu_quant::aclnn {

struct Tensor {
  std::vector<int64_t> dims, strides, storage_dims;  // elements
  int64_t offset = 0;
  int format = ACL_FORMAT_ND;  // aclFormat and aclDataType, or whatever else a caller passed
  int type = ACL_DT_UNDEFINED;
  void* address = nullptr;

  // What no operator takes, in a few words, or null.
  const char* problem = nullptr;
  // The elements, without an address; valid where there is no problem.
  TensorView view;
  int64_t offset_in_bytes = 0;

  // Fills in the two parts above.
  void derive();
};

using Tensors = Registry<Tensor, aclTensor, Kind::tensor>;
Tensors& tensors();

}  // namespace npu_quant::aclnn
