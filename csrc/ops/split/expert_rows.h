// Rows of codes times the matrix of their expert, what that becomes in a gated linear unit, and the
// codes of it (docs/numerics.md 24).
#pragma once

#include "ops/contract/op.h"
#include "ops/contract/product.h"
#include "ops/split/row_groups.h"

namespace npu_quant {

// A call: the caller's arrays, absent where they are not given or not wanted.
struct ExpertCall {
  const Op& op;
  const RowGroups& groups;  // rows behind the last one have results of 0
  const TensorView &x, &weight;
  Format x_codes;
  CodeMatrix matrix;  // of an expert
  const TensorView &weight_scale, &x_scale;
  const TensorView &y, &scale;
  // Of sums of x - 8 in groups along k: weight_scale has a row for each, and this is added.
  const TensorView* bias = &kAbsent;
  const TensorView* smooth = &kAbsent;  // factors of the unit: a row or one for each expert
  // Whether scales are powers of two for 32 elements, those of y, too, which is of float8_e4m3fn.
  bool in_blocks = false;
};

// Some rows at a time, in memory of some MiB. Fails, for want of memory, before anything is
// written.
Status run_expert_rows(const ExpertCall& call);

}  // namespace npu_quant
