// How far weights are from what their codes stand for: the contract. Fill in the arguments,
// check(), run().
#pragma once

#include "kernels/compare/weight_error.h"
#include "ops/contract/attributes.h"
#include "ops/contract/outputs.h"

namespace npu_quant {

// Adds what rows of a weight lose to what has been found of the rows before them. The result is the
// same to the bit for any target, number of threads and number of rows in a call.
struct WeightError {
  static constexpr const char* kName = "weight_error";

  TensorView w;      // [rows, n], finite
  TensorView codes;  // the same shape, int8 or float8_e4m3fn
  TensorView scale;  // of int8 float32 [rows, 1], of float8_e4m3fn uint8 [rows, ceil(n / 32)]
  // float64: the sums of w^2 and of e^2, the greatest |e|, how many rows are zero, and, if there is
  // one more, the sum of v^2.
  TensorView sums;

  Inputs inputs();
  Attributes attributes() { return {}; }
  Status check() const;
  // Fails before anything is added, or not at all.
  Status run() const;

  int64_t bytes() const { return w.bytes() + codes.bytes() + scale.bytes(); }  // read
};

}  // namespace npu_quant
