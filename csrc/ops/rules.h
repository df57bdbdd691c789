// Profiles and formats made into data: the rule that a call of an operator goes by.
#pragma once

#include "core/rule.h"
#include "core/status.h"

namespace npu_quant {

struct Op;

// Devices choose by these.
struct Geometry {
  int64_t rows = 0, n = 0;  // groups, and elements of each
  double greatest = 0;      // what amax becomes, of codes that leave it to the caller; 0: their own
};

// The rule of op.numerics for codes of a format, or the fault that the operator lacks this profile.
Status rule_for(const Op& op, Format codes, const Geometry& geometry, Rule& rule);

}  // namespace npu_quant
