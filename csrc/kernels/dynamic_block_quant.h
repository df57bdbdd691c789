// npu_dynamic_block_quant's kernel: what ops/dynamic_block_quant.cpp hands over. One definition of
// run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"

namespace npu_quant {

struct DynamicBlockQuantKernel {
  static constexpr int64_t kBlock =
      128;  // elements of a row that share a scale; the last block may be shorter

  struct Args {
    DType dtype;
    int64_t rows, n;
    const char* x;  // strides in bytes
    int64_t x_row_stride, x_stride;
    char* y;  // int8, null where not wanted
    int64_t y_row_stride, y_stride;
    char* scale;  // fp32, null where not wanted
    int64_t scale_row_stride, scale_stride;
    double min_scale;  // the scale is at most 1 / min_scale; 0: no bound
    bool stream;       // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
