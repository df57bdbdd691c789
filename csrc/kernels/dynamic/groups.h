// Dynamic quantization in groups of any shape: what ops/split/dynamic_groups.cpp hands over. The
// codes are then npu_quantize's (kernels/elementwise/args.h). One definition of each run() per
// target.
#pragma once

#include "core/dtype.h"
#include "core/rule.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

// The greatest and the least element of each group, both NaN if an element is; -inf and inf where
// there are none. The strides of `hi` and `lo` say what a group is: 4 and 0 a row, 0 and 4 a
// column, 0 and 0 everything.
struct ExtremesKernel {
  struct Args {
    DType dtype;
    int64_t rows, n;
    Strided x;
    Strided hi, lo;  // float32
    bool begins;     // else they hold those of elements that came before
  };
  template <Target target>
  static void run(const Args& args);
};

// Scales and offsets of groups from their extremes.
struct ScalesKernel {
  struct Args {
    Rule rule;
    bool symmetric;
    int64_t count;
    const char *hi, *lo;      // float32, as are
    char *scale, *offset;     // offset: -0 if symmetric, which adds nothing
    char* multiplier;         // of values, where the rule has them multiplied; else unchanged
    Strided scales, offsets;  // rows of one: the caller's, null where not wanted
  };
  template <Target target>
  static void run(const Args& args);
};

// All of it at once, asymmetric, of rows of a tile at least, whose elements follow on each other in
// x and in y: each row is a group.
struct FusedRowsKernel {
  struct Args {
    DType dtype;
    Format format;
    int64_t rows, n;
    Strided x, y;
    Rule rule;
    Strided scales, offsets;  // rows of one, null where not wanted
    bool stream;              // y is to bypass the caches: its tiles are aligned
  };
  template <Target target>
  static void run(const Args& args);
};

// Codes of such rows, where each column is a group.
struct ColumnCodesKernel {
  struct Args {
    DType dtype;
    Format format;
    int64_t rows, n;
    Strided x, y;
    Rule rule;
    const char *scale, *offset, *factor,
        *steps;   // float32, of each column (kernels/dynamic/affine.h)
    bool stream;  // as above
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
