// How the dynamic quantizers compute groups of any shape.
#pragma once

#include "core/rule.h"
#include "kernels/dynamic/dynamic.h"
#include "ops/split/dynamic_rows.h"

namespace npu_quant {

// By the fastest kernel for the call.
void run_dynamic(const DynamicArgs& args);

// By the fast loops where a group is a row of theirs; else extremes, scales, and npu_quantize's
// codes, from cache where a group fits.
struct DynamicGroups {
  DType x_dtype;
  Format format;
  Rule rule;
  bool symmetric, stream;
  int64_t work;  // bytes, for parallel_for()

  // Each row is a group, each column along axis -2, or everything.
  void quantize_rows(const DynamicTensors& tensors, const SmoothRows& smooth) const;
  void quantize_columns(const DynamicTensors& tensors, const SmoothRows& smooth) const;
  void quantize_all(const DynamicTensors& tensors, const SmoothRows& smooth) const;

  bool takes_fused_loops(const RowsPart& part) const;
  bool streams(const RowsPart& part) const;

 private:
  // As x lies in memory, but for packed codes.
  void quantize_rows(const RowsPart& part) const;
  void quantize_columns(const RowsPart& part) const;

  DynamicArgs symmetric_args(const RowsPart& part, int64_t group_rows, int64_t group) const;
  void quantize_lying_rows(const RowsPart& part) const;
  void quantize_lying_columns(const RowsPart& part) const;
};

}  // namespace npu_quant
