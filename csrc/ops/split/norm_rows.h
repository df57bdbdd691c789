// The rows of the operators that norm: where they lie, and which weights they have.
#pragma once

#include "kernels/norm/rms_norm.h"
#include "ops/contract/op.h"

namespace npu_quant {

// A call: the caller's arrays, absent where they are not given or not wanted.
struct NormCall {
  struct Quantizer {
    const TensorView *scale = &kAbsent, *zero_point = &kAbsent, *smooth = &kAbsent;
  };

  const Op& op;
  Format codes;
  double epsilon;
  const TensorView* tensors[RmsNormKernel::kTensors];
  const TensorView *gamma, *beta;  // of the axes that the norm runs over
  Quantizer quantizers[2];
  bool dynamic = false, divide = true;
};

Status run_norm(const NormCall& call);

// What norms over the last axes go by: x's own.
Status check_trailing_axes(const char* op, const char* argument, const TensorView& view,
                           const char* x_name, const TensorView& x);
// What norms over the last axis go by: (n,) or (1, n), of the n elements of a row of x.
Status check_norm_weight(const char* op, const char* argument, const TensorView& view,
                         const char* x_name, int64_t n);
// Such a weight without an axis of one before its own.
TensorView last_axis_of(const TensorView& view);

}  // namespace npu_quant
