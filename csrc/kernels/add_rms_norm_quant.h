// npu_add_rms_norm_quant's kernel: what ops/add_rms_norm_quant.cpp hands over. One definition of
// run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/strided.h"

namespace npu_quant {

struct AddRmsNormQuantKernel {
  enum { kX1, kX2, kX, kY1, kY2, kRmsNorm, kTensors };

  // How a row becomes codes. Weights are float32, one (stride 0) or one for each element (stride
  // 4), null where there is none.
  struct Quantizer {
    Strided scale, zero_point;  // no scale: codes are 0
  };

  struct Args {
    DType dtype;   // of x1, x2, x and the norm
    Format codes;  // of y1 and y2: int8 or a small one
    int64_t rows, n;
    Strided tensors[kTensors];  // null where not wanted
    Strided gamma, beta;
    Quantizer quantizers[2];
    double epsilon;
    bool divide;  // by the scales, else multiply
    bool stream;  // outputs are to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
