// How many parts of a size a whole has, the last of which may be smaller.
#pragma once

#include <cstdint>

namespace npu_quant {

// Of n >= 0. Always inline, as kernels have their own: linked as one function, it would be any
// target's. Small calls have one part, and do not divide.
[[gnu::always_inline]] constexpr int64_t ceil_div(int64_t n, int64_t part) {
  return n <= part ? n > 0 : (n - 1) / part + 1;
}

}  // namespace npu_quant
