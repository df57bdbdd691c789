// npu_dtype_cast's kernel: what ops/dtype_cast.cpp hands over. One definition of run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/strided.h"

namespace npu_quant {

struct DtypeCastKernel {
  struct Args {
    Format from, to;  // float32, float16, bfloat16 or a small one
    int64_t rows, n;
    Strided x, y;
    bool stream;  // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
