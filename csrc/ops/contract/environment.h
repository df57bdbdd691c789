// What the environment variables choose for a process: both faces go by it.
#pragma once

#include "ops/contract/contract.h"

namespace npu_quant {

struct Environment {
  Status status;  // names the variable that holds nothing we know, and what it may hold
  Numerics numerics;
};

// Applies NPU_QUANT_TARGET and NPU_QUANT_NUM_THREADS, and says which profile NPU_QUANT_NUMERICS
// names. What is not at fault is applied.
Environment read_environment();

// As it was when the library was loaded: the face that is loaded second changes nothing.
const Environment& environment();
// For tests: as it is now. Not while anything computes.
void renew_environment();

// False where this CPU runs no target of that name.
bool set_target(std::string_view name);
// False where it is no level of cache: "l1" or "l2".
bool set_prefetch(std::string_view name);
// False where it is none of "auto", "always" and "never".
bool set_streaming(std::string_view name);

}  // namespace npu_quant
