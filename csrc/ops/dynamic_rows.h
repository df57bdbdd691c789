// The rows of the dynamic quantizers: where they lie, and which factors they have.
#pragma once

#include <algorithm>

#include "core/rows.h"
#include "core/strided.h"
#include "ops/parameter.h"

namespace npu_quant {

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

// What a dynamic quantizer reads and writes; absent where it is not wanted.
struct DynamicTensors {
  enum { kX, kY, kScale, kOffset, kTensors };
  static constexpr TensorView kAbsent{};
  const TensorView* of[kTensors];  // the caller's: small calls have no time for copies
  bool packed;                     // codes share elements of y

  // From some bytes on, with the stride of an axis of x.
  Strided strided(int t, int64_t offset, int64_t row_stride, int64_t stride) const {
    if (!of[t]->present) return {};
    return {of[t]->data + offset, row_stride, stride, nullptr, packed && t == kY ? kPackedItem : 0};
  }
};

// Rows along the last axis of x.
class DynamicRows {
 public:
  static constexpr int kTensors = DynamicTensors::kTensors;

  // A segment is a row, or a part of one.
  DynamicRows(const DynamicTensors& tensors, const SmoothRows& smooth, bool has_parts);

  int64_t segments() const { return rows_.count() * segments_; }
  bool has_elements() const { return rows_.count() > 0 && n_ > 0; }

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

  const DynamicTensors& tensors_;
  const SmoothRows& smooth_;
  const int64_t n_;
  const Rows<kTensors> rows_;
  const int64_t segment_, segments_;
};

}  // namespace npu_quant
