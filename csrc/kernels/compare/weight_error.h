// Weights beside what their codes stand for: what ops/checkpoint.cpp hands over. One definition of
// run() per target.
#pragma once

#include "core/dtype.h"
#include "core/target.h"

namespace npu_quant {

// Of a row, in float64.
struct RowError {
  double weight;    // sum of w^2
  double error;     // sum of e^2
  double greatest;  // of |e|
  double values;    // sum of v^2, where it is wanted
};

// Rows that lie one after the other, and so do their codes and scales.
struct WeightErrorKernel {
  struct Args {
    DType dtype;  // of w: float32, float16 or bfloat16
    bool is_mx;   // codes are e4m3fn and scales bytes of E8M0, one for 32 columns; else codes
                  // are int8 and scales float32, one for a row
    bool wants_values;
    int64_t rows, n;  // n: elements of a row
    const char* w;
    const char* codes;
    const char* scales;
    RowError* errors;  // a row's each
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
