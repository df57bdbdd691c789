// What the functions of operators say no with: an operator's fault, in aclnn's codes and words.
#pragma once

#include <initializer_list>

#include "aclnn/acl_meta.h"
#include "aclnn/src/report.h"
#include "core/status.h"

namespace npu_quant::aclnn {

// What an operator calls an attribute, and what the C function calls it. Tensors are named when
// they are added to an executor.
struct Attribute {
  const char* ours;
  const char* theirs;
};

// A function of an operator: its name, and how its faults differ from what is usual.
struct Function {
  const char* name;
  std::initializer_list<Attribute> attributes;
  int shape_code = ACLNN_ERR_PARAM_INVALID;
  int attribute_code = ACLNN_ERR_PARAM_INVALID;
  int phase_2_code = OK;  // of every fault of phase 2, where it is not OK
};

enum class Phase { one, two };

// What a caller knows an attribute by.
std::string name_of(const Function& function, const std::string& attribute);

// Reports a fault, in the caller's words, and returns its code.
int report(const Function& function, const Status& fault, const Words& words, Phase phase);

}  // namespace npu_quant::aclnn
