// exp(x) as the kernels compute it: what test_exp.cpp looks at. One definition of run() per target.
#pragma once

#include <cstdint>

#include "core/target.h"

namespace npu_quant {

struct ExpKernel {
  struct Args {
    const float* x;
    float* y;
    int64_t n;  // a multiple of 16
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
