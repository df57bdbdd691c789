// The blocks of aclrtMalloc and aclrtMallocHost.
#pragma once

#include <cstddef>

namespace npu_quant::aclnn {

struct Range {
  const void* begin;
  size_t size;
};

// The first of the ranges that starts inside a live block and runs past its end, or `count`. Memory
// that is not ours may be of any size.
int find_overrun(const Range* ranges, int count);

}  // namespace npu_quant::aclnn
