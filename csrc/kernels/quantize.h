// npu_quantize's kernel: what ops/quantize.cpp hands over. One definition of run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/strided.h"

namespace npu_quant {

// How a sum that is no integer becomes one.
enum class Rounding { to_even, floor, ceil, trunc };

struct QuantizeKernel {
  struct Args {
    DType x_dtype, y_dtype;  // of int8, uint8, int32
    int64_t rows, n;
    Strided x, y;
    Strided scale, inverse, zero_point;  // float32; stride is 0 or 4; inverse: fl(1 / scale)
    float least_scale, greatest_scale;   // magnitudes
    bool divide;                         // x / scale, else x * scale
    bool twice;                          // x * scale * scale; not to be divided
    Rounding rounding;                   // to_even unless x is multiplied and y is int8
    bool stream;                         // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
