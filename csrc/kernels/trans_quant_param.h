// npu_trans_quant_param's kernel: what ops/trans_quant_param.cpp hands over. One definition of
// run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/strided.h"

namespace npu_quant {

struct TransQuantParamKernel {
  struct Args {
    int64_t rows, n;
    Strided scale, y;  // float32, int64
    Strided offset;    // float32; stride is 0 or 4
    bool rounds;       // the scale to the nearest of 19 bits, or else cuts it
    bool stream;       // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
