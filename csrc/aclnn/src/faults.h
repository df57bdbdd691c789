// What the functions of operators say no with: an operator's fault, in aclnn's codes and words.
#pragma once

#include <initializer_list>
#include <span>

#include "aclnn/acl_meta.h"
#include "aclnn/src/report.h"
#include "core/format.h"
#include "core/status.h"

namespace npu_quant::aclnn {

// An attribute or a list that the C function does not call by the operator's name in camelCase.
// Tensors are named when they are added to an executor.
struct OtherName {
  const char* ours;
  const char* theirs;
};

// A function of an operator: its name, and how its faults differ from what is usual.
struct Function {
  const char* name;
  std::initializer_list<OtherName> other_names = {};
  std::span<const Format> codes = {};  // that its tensor of codes may hold; int32 is 8 of int4
  int shape_code = ACLNN_ERR_PARAM_INVALID;
  int attribute_code = ACLNN_ERR_PARAM_INVALID;
  int phase_2_code = OK;  // of every fault of phase 2, where it is not OK
};

// Of most functions; the others have a part of it.
inline constexpr Format kEveryCode[] = {Format::int8,        Format::int4,
                                        Format::int32,       Format::hifloat8,
                                        Format::float8_e5m2, Format::float8_e4m3fn};
inline constexpr Format kCodesOfBytes[] = {Format::int8, Format::hifloat8, Format::float8_e5m2,
                                           Format::float8_e4m3fn};

enum class Phase { one, two };

// What a caller knows an attribute by.
std::string name_of(const Function& function, const std::string& attribute);

// Reports a fault, in the caller's words, and returns its code.
int report(const Function& function, const Status& fault, const Words& words, Phase phase);

}  // namespace npu_quant::aclnn
