// The kernel of the operators that norm rows: what ops/split/norm_rows.cpp hands over. One
// definition of run() per target.
#pragma once

#include "core/dtype.h"
#include "core/rule.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

struct RmsNormKernel {
  // Of x's shape are those before kRstd; the others hold a float32 for each row.
  enum { kX1, kX2, kX, kY1, kY2, kRmsNorm, kRstd, kScale1, kScale2, kTensors };

  // How a row becomes codes. Weights are float32, one (stride 0) or one for each element (stride
  // 4), null where there is none.
  struct Quantizer {
    Strided scale, zero_point;  // all elements or none; no scale: codes are 0
    Strided factor, offset;     // of StepsKernel (kernels/elementwise/args.h), where it divides
    Strided smooth;             // of a row that is quantized by its own scale
  };

  struct Args {
    DType dtype;   // of x1, x2, x and the norm
    Format codes;  // of y1 and y2: int8 or a small one
    int64_t rows, n;
    Strided tensors[kTensors];  // null where not wanted; no x2: nothing is added
    Strided gamma, beta;
    Quantizer quantizers[2];
    double epsilon;
    bool dynamic;  // each row by a scale of its own, which kScale1 and kScale2 take
    bool divide;   // by the scales, else multiply
    bool stream;   // outputs are to bypass the caches
    Rule rule;
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
