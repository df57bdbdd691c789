// What the CPU's caches hold.
#pragma once

#include <cstdint>

namespace npu_quant {

// Whether outputs should bypass the caches, given the bytes a call reads and writes.
bool worth_streaming(int64_t bytes);

}  // namespace npu_quant
