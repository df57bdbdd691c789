// The rows of the operators that quantize a gated linear unit: where they lie, and which
// parameters go with their elements.
#pragma once

#include "kernels/glu/glu.h"
#include "ops/contract/op.h"
#include "ops/split/row_groups.h"

namespace npu_quant {

// A call: the caller's arrays, absent where they are not given or not wanted. Parameters have
// values for each group of rows; behind the last group there are none.
struct GluCall {
  const Op& op;
  const TensorView& x;
  bool gate_first;
  GluKernel::Args how;  // the attributes of all rows
  const TensorView &y, &scales;
  bool interleaved = false;  // the halves are even and odd elements, not one behind the other
  const TensorView *weight_scale = &kAbsent, *bias = &kAbsent, *activation_scale = &kAbsent;
  const TensorView *smooth = &kAbsent, *scale = &kAbsent, *zero_point = &kAbsent;
  const TensorView* weight = &kAbsent;  // one for each row
  const TensorView* origin = &kAbsent;  // of the shape of y, in x's dtype
  const RowGroups* groups = nullptr;    // all rows are one where there are none
  GluKernel::Becomes behind = how.becomes;
};

Status run_glu(const GluCall& call);

// Of the halves of x.
Shape half_of(Shape shape);

// Parameters of so many elements of a row: one for each element of each group, or of the only one;
// or one for each group where that is allowed.
struct GroupShapes {
  const char* op;
  const char* of_width;  // what has so many elements
  int64_t groups, width;
  bool one_each;

  Status check(const char* argument, const TensorView& view) const;
};

}  // namespace npu_quant
