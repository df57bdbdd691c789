// What the functions of operators say no with: an operator's fault, in aclnn's codes and words.
#pragma once

#include "aclnn/acl_meta.h"
#include "aclnn/src/report.h"
#include "core/status.h"

namespace npu_quant::aclnn {

// What an operator calls something, and what the C function calls it.
struct Word {
  const char* ours;
  const char* theirs;
};

// A function of an operator: its name, and how its faults differ from what is usual.
struct Function {
  const char* name;
  const Word* words;  // up to one that is null
  int shape_code = ACLNN_ERR_PARAM_INVALID;
  int attribute_code = ACLNN_ERR_PARAM_INVALID;
  int phase_2_code = OK;  // of every fault of phase 2, where it is not OK
};

// Reports a fault of phase 1 or 2 and returns its code.
int report(const Function& function, const Status& fault, bool is_phase_2);

}  // namespace npu_quant::aclnn
