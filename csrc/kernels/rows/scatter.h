// Elements of contiguous rows, to wherever they belong.
#pragma once

#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

// Where neighbouring rows are neighbours in memory, this many bytes of a column are written at
// once: single cache lines of columns that lie a power of two apart take twice as long (Zen 4).
inline constexpr int64_t kColumnBytes = 256;

// from[row * width + i] goes to element (row, i) of `to`: elements of `item` bytes, 1, 2, 4
// or 8.
struct ScatterKernel {
  struct Args {
    const char* from;
    int64_t width, rows, columns, item;
    Strided to;
    bool stream;  // past the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
