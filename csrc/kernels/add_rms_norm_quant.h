// npu_add_rms_norm_quant's kernel: what ops/add_rms_norm_quant.cpp hands over. One definition of
// run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/rows.h"

namespace npu_quant {

struct AddRmsNormQuantKernel {
  enum { kX1, kX2, kX, kY1, kY2, kRmsNorm, kTensors };

  // A float32 array of n elements, or one value for all of them.
  struct Weight {
    const char* values = nullptr;
    bool is_one = true;
  };
  // How a row becomes codes.
  struct Quantizer {
    Weight scale, zero_point;  // no scale: codes are 0
  };

  struct Args {
    DType dtype;  // of x1, x2, x and the norm
    int64_t rows, n;
    char* data[kTensors];  // null where not wanted
    int64_t row_strides[kTensors];
    const Axes<kTensors>* row;  // the axes of a row, n elements altogether
    Weight gamma, beta;
    Quantizer quantizers[2];
    double epsilon;
    bool divide;  // by the scales, else multiply
    bool stream;  // outputs are to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
