// Codes of values, as the kernels compute them: what test_codes.cpp looks at. One definition of
// run() per target.
#pragma once

#include <cstdint>

#include "core/dispatch.h"

namespace npu_quant {

struct CodesKernel {
  enum class Code { int8, uint8, float8_e4m3fn };

  struct Args {
    Code code;
    const float* from;
    uint8_t* to;
    int64_t n;
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
