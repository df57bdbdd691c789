// The yardstick: a copy that reads `ratio` bytes for each byte it writes, the memory traffic of a
// quantization and nothing else.
#pragma once

#include <cstdint>

#include "core/dispatch.h"

namespace npu_quant {

// How the copy moves its bytes. Which way is fastest depends on the size, the alignment and the
// CPU: the harness tries them all and compares with the best.
struct CopyForm {
  bool streams;     // stores that bypass the caches
  bool prefetches;  // asks for x some KiB ahead
  bool halves;      // load_halves(), as the kernels do, instead of whole vectors
};

struct CopyMixKernel {
  static constexpr int kMaxRatio = 4;

  struct Args {
    const char* x;  // ratio * n bytes
    char* y;        // n bytes
    int64_t n;
    int ratio;  // 1 to kMaxRatio
    CopyForm form;
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
