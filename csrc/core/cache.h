// What the CPU's caches hold.
#pragma once

#include <cstdint>

namespace npu_quant {

// Whether outputs should bypass the caches, given the bytes a call reads and writes.
bool worth_streaming(int64_t bytes);

// For tests, which need no large arrays then: a call of any size streams, or none does. Not while
// anything computes.
enum class Streaming { by_size, always, never };
const char* name_of(Streaming streaming);  // "auto", "always", "never"
Streaming streaming();
void set_streaming(Streaming streaming);

}  // namespace npu_quant
