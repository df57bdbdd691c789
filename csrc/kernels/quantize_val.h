// The kernels of quantize_val and dequantize_val: what ops/quantize_val.cpp hands over. One
// definition of run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/strided.h"

namespace npu_quant {

struct QuantizeValKernel {
  struct Args {
    DType x_dtype;
    Format q_format;  // int8, uint8, int32
    int64_t rows, n;
    Strided x, q;
    Strided inverse, zero_point;  // float32; stride is 0 or 4; inverse: fl(1 / scale)
    bool stream;                  // q is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

struct DequantizeValKernel {
  struct Args {
    Format q_format;
    int64_t rows, n;
    Strided q, x;               // x: float32
    Strided scale, zero_point;  // float32 and int32; stride is 0 or 4
    bool stream;                // x is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
