// Profiles made into data: the rule that a call of an operator goes by (docs/numerics.md 4).
#pragma once

#include <span>

#include "core/numerics.h"
#include "core/rule.h"
#include "core/status.h"
#include "ops/contract/contract.h"

namespace npu_quant {

// amax becomes the greatest code, or what the caller wants instead of it, if that is not 0.
// Integers have a code more below 0.
Rule reference_rule(Format codes, double greatest = 0);

// No scale is greater than 1 / min_scale, if that is not 0.
void bound_scales(double min_scale, Rule& rule);

// What a token's call of npu_dynamic_quant looks like to a device.
struct TokenCall {
  Format codes;
  int64_t rows, n;
  bool smooths, has_groups;
};

// The forms of a profile, beside what reference_rule() says.
void set_dynamic_forms(const Numerics& numerics, const TokenCall& call, Rule& rule);
void set_asymmetric_forms(const Numerics& numerics, Rule& rule);
void set_block_forms(const Numerics& numerics, Rule& rule);

// What a device refuses that the operator takes, in one sentence; and of it an array's dtype, and
// the format of codes.
Status refused_by_device(const char* op, Profile profile, Fault kind, const char* argument,
                         const Text& came, const Text& taken);
Status check_dtype_of_device(const char* op, Profile profile, const char* argument,
                             const TensorView& view, std::span<const DType> taken);
Status check_format_of_device(const char* op, Profile profile, Format codes,
                              std::span<const Format> taken);
// By an operator that has `reference` alone.
Status check_has_profile(const char* op, Profile profile);

}  // namespace npu_quant
