// Parameters (scales, zero points, gamma) as float32, whatever the dtype they come in.
#pragma once

#include "core/dtype.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

struct WidenKernel {
  struct Args {
    DType dtype;  // float32, float16, bfloat16, int8, uint8 or int32
    const char* from;
    int64_t count, stride;  // in bytes
    char* to;               // float32; int32 is rounded to nearest even
  };
  template <Target target>
  static void run(const Args& args);
};

// x * factor, of some rows.
struct ProductsKernel {
  struct Args {
    DType dtype;  // float32, float16 or bfloat16
    int64_t rows, n;
    Strided x;
    Strided factor;  // float32; stride is 0 or 4
    char* to;        // float32, row after row
  };
  template <Target target>
  static void run(const Args& args);
};

// A number as float32.
struct NarrowKernel {
  struct Args {
    double value;
    char* to;
  };
  template <Target target>
  static void run(const Args& args);
};

// fl(1 / value) of some float32 values.
struct InvertKernel {
  struct Args {
    const char* values;
    int64_t count;
    char* to;
  };
  template <Target target>
  static void run(const Args& args);
};

// The least and the greatest of some float32 values; both NaN if one is.
struct BoundsKernel {
  struct Args {
    const char* values;
    int64_t count;
    float* least;
    float* greatest;
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
