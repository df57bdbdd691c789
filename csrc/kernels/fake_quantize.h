// The fake quantizers' kernels: what ops/fake_quantize.cpp hands over. One definition of run() per
// target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/strided.h"

namespace npu_quant {

struct FakeQuantizeKernel {
  struct Args {
    DType x_dtype, output_dtype;
    int64_t rows, n;
    Strided x;
    Strided scale, inverse, zero_point;  // float32; stride is 0 or 4; inverse: fl(1 / scale)
    Strided output, mask;                // null where not wanted
    float quant_min, quant_max;
    bool float_zero_point;
    bool enabled;  // else output is x, and mask all 1
    bool stream;   // outputs are to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

struct FakeQuantizeBackwardKernel {
  struct Args {
    DType dtype;  // of grad and grad_input
    int64_t rows, n;
    Strided grad, mask, grad_input;
    bool stream;
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
