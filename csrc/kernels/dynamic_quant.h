// npu_dynamic_quant's kernel: what ops/dynamic_quant.cpp hands over. One definition of run() per
// target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"

namespace npu_quant {

struct DynamicQuantKernel {
  struct Args {
    DType dtype;      // of x and smooth
    int64_t rows, n;  // tokens, elements per token
    const char* x;    // strides in bytes
    int64_t x_row_stride, x_stride;
    const char* smooth;  // n contiguous elements, or null
    char* y;             // int8, null where not wanted
    int64_t y_row_stride, y_stride;
    char* scale;  // fp32, null where not wanted
    int64_t scale_stride;
    bool stream;  // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
