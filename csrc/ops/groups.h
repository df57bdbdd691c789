// Groups of rows that follow on each other, by where each of them ends.
#pragma once

#include "ops/contract.h"

namespace npu_quant {

// `ends` is int32, of rank 1.
int64_t group_end_at(const TensorView& ends, int64_t group);

// None is before the one it follows, and the last one is that of all rows of x.
Status check_group_ends(const char* op, const char* argument, const TensorView& ends,
                        const char* x_name, int64_t rows);

}  // namespace npu_quant
