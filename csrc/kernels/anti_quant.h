// npu_anti_quant's kernel: what ops/anti_quant.cpp hands over. One definition of run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/strided.h"

namespace npu_quant {

struct AntiQuantKernel {
  struct Args {
    Format codes;   // of x: int8, int4 or a float of 8 bits
    DType y_dtype;  // float16 or bfloat16
    int64_t rows, n;
    Strided x, y;
    Strided scale, offset;  // float32; stride is 0 or 4, the same
    bool sqrt_mode;         // the product is multiplied by the scale once more
    bool stream;            // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
