// What the environment variables choose for a process: either face reads them once, before it
// computes.
#pragma once

#include "ops/contract.h"

namespace npu_quant {

// Applies NPU_QUANT_TARGET and NPU_QUANT_NUM_THREADS, and says which profile NPU_QUANT_NUMERICS
// names. A fault names the variable, what it holds and what it may hold; what is not at fault is
// applied.
Status apply_environment(Numerics& numerics);

// False where this CPU runs no target of that name.
bool set_target(std::string_view name);

}  // namespace npu_quant
