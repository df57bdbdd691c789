// npu_quantize's kernel: what ops/quantize.cpp hands over. One definition of run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/rule.h"
#include "core/strided.h"

namespace npu_quant {

// How a sum that is no integer becomes one; the ties of hifloat8 go away from zero all the same.
enum class Rounding { to_even, floor, ceil, trunc };

// What dividing by scales goes by (kernels/quotient.h).
struct StepsKernel {
  struct Args {
    Format codes;
    int64_t count;
    const char *scale, *zero_point;  // float32, as are
    char *factor, *offset;           // offset: for bytes alone
  };
  template <Target target>
  static void run(const Args& args);
};

struct QuantizeKernel {
  struct Args {
    DType x_dtype;
    Format codes;
    Rule rule;  // where it has values multiplied, scale holds what by
    int64_t rows, n;
    Strided x, y;
    Strided scale, zero_point;  // float32; stride is 0 or 4
    Strided factor, offset;     // of StepsKernel, where integers are divided
    bool divide;                // x / scale, else x * scale
    bool twice;                 // x * scale * scale; not to be divided
    Rounding rounding;          // to_even unless x is multiplied and y holds int8 or int4
    bool stream;                // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
