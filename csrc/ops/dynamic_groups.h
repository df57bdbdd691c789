// How the dynamic quantizers share work: which rows have which factors, and groups of any shape.
#pragma once

#include <algorithm>

#include "core/rows.h"
#include "core/rule.h"
#include "ops/parameter.h"

namespace npu_quant {

int64_t group_end_at(const TensorView& group_index, int64_t expert);

// smooth_scales and group_index: which factors the elements of a row have.
class SmoothRows {
 public:
  static constexpr int64_t kMostExperts = 1024;

  // Of group_index any values: the C API does not judge them.
  Status assign(const char* op, const TensorView& smooth_scales, const TensorView& group_index);

  // The factors of a row's elements, null where there are none.
  Strided of_row(int64_t row) const;
  // Where the rows end that have the factors of this one.
  int64_t end_of(int64_t row) const;

 private:
  int64_t expert_of(int64_t row) const;

  Parameter factors_;
  int64_t row_stride_ = 0, experts_ = 1;
  int64_t ends_[kMostExperts - 1];  // of all experts but the last
};

// Some rows that lie evenly, or a segment of one, and have their factors in common.
struct RowsPart {
  int64_t rows, n;
  Strided x, y, scale, offset, smooth;
};

// The rows of a dynamic quantizer's arrays: those along the last axis of x.
class DynamicRows {
 public:
  enum { kX, kY, kScale, kOffset, kTensors };

  // y, scale and offset are absent where they are not wanted. Where rows are no
  // groups, threads share parts of long ones.
  DynamicRows(const TensorView (&tensors)[kTensors], const SmoothRows& smooth, bool has_parts);

  int64_t segments() const { return rows_.count() * segments_; }
  bool has_elements() const { return rows_.count() > 0 && n_ > 0; }
  bool has_codes() const { return tensors_[kY].present; }
  Strided scale() const { return {tensors_[kScale].data, 0, 0}; }  // of the first row
  Strided offset() const { return {tensors_[kOffset].data, 0, 0}; }

  // Calls run(part) for segments [begin, end).
  template <class Run>
  void for_each_part(int64_t begin, int64_t end, Run run) const {
    while (begin < end) {
      const int64_t row = begin / segments_;
      const int64_t last = std::min(end, std::min(smooth_.end_of(row), rows_.count()) * segments_);
      rows_.for_each_segment(begin, last, n_, segment_,
                             [&](const int64_t(&offsets)[kTensors], int64_t rows, int64_t from,
                                 int64_t to) { run(part_at(row, offsets, rows, from, to)); });
      begin = last;
    }
  }

 private:
  RowsPart part_at(int64_t row, const int64_t (&offsets)[kTensors], int64_t rows, int64_t from,
                   int64_t to) const;

  const TensorView (&tensors_)[kTensors];
  const SmoothRows& smooth_;
  const int64_t n_;
  const Rows<kTensors> rows_;
  const int64_t segment_, segments_;
};

// What is computed where a group is no row of the fast kernels: extremes, scales, and then
// npu_quantize's codes.
struct DynamicGroups {
  DType x_dtype, y_dtype;
  Rule rule;
  bool symmetric, stream;

  // Each row is a group: by the fast loops where there are some.
  void quantize_rows(const RowsPart& part) const;
  // All rows are one: its scale goes to the first.
  void quantize_all(const DynamicRows& rows, int64_t bytes) const;

  bool takes_fused_loops(const Strided& x, const Strided& y, int64_t n) const;
  bool streams(const Strided& y, int64_t n) const;
};

}  // namespace npu_quant
