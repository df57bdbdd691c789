// npu_anti_mx_quant's kernel: what ops/anti_mx_quant.cpp hands over. One definition of run() per
// target.
#pragma once

#include "kernels/mx/mx.h"

namespace npu_quant {

struct AntiMxKernel {
  struct Args {
    Format format;    // of x's codes
    DType y_dtype;    // float32, float16 or bfloat16
    int64_t rows, n;  // of y
    Strided x;        // bytes, of a code or of two
    Strided y;
    MxScales scales;
    bool is_in_rows;  // the blocks; else they lie across rows
    bool stream;      // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
