// Rows of bytes by way of simd/result_stream.h: what test_result_stream.cpp looks at. One
// definition of run() per target.
#pragma once

#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

struct StreamingKernel {
  struct Args {
    int64_t rows, n;   // bytes of a row
    int64_t part;      // of which so many at a time are handed over
    const char* from;  // one row after the other
    Strided y;
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
