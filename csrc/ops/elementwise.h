// How elementwise work is laid out: the axes in memory order, split into rows and segments of rows
// that threads share.
#pragma once

#include <algorithm>

#include "core/parallel.h"
#include "core/rows.h"
#include "core/strided.h"

namespace npu_quant {

// For tensors that lack an axis, or are absent.
inline constexpr int64_t kNoStrides[kMaxRank] = {};

template <int tensors>
class Elementwise {
 public:
  // The part of the work that a kernel is called for.
  struct Part {
    int64_t rows, n;
    Strided at[tensors];
  };

  // Walks `shape` as tensor `like` lies in memory.
  Elementwise(const Shape& shape, int like, const int64_t* const (&strides)[tensors])
      : Elementwise(Axes<tensors>::in_order_of(like, shape.dims, shape.rank, strides)) {}

  // Calls run(part) with the tensors that begin at `data`; `bytes` is what all of it reads and
  // writes.
  template <class Run>
  void for_each_part(char* const (&data)[tensors], int64_t bytes, Run run) const {
    if (rows_.count() == 0 || n_ == 0) return;
    const int64_t segments = (n_ + kSegment - 1) / kSegment;
    parallel_for(rows_.count() * segments, bytes, [&](int64_t begin, int64_t end) {
      if (segments == 1)
        return rows_.for_each_run(begin, end, [&](const int64_t(&offsets)[tensors], int64_t rows) {
          run(part_at(data, offsets, rows, 0, n_));
        });
      while (begin < end) {
        const int64_t row = begin / segments, first = begin % segments;
        const int64_t count = std::min(segments - first, end - begin);
        rows_.for_each_run(row, row + 1, [&](const int64_t(&offsets)[tensors], int64_t rows) {
          run(part_at(data, offsets, rows, first * kSegment,
                      std::min((first + count) * kSegment, n_)));
        });
        begin += count;
      }
    });
  }

 private:
  static constexpr int64_t kSegment = 1 << 15;  // elements

  explicit Elementwise(const Axes<tensors>& axes)
      : axes_(axes), n_(axes.rank > 0 ? axes.dims[axes.rank - 1] : 1), rows_(axes.without_last()) {}

  Part part_at(char* const (&data)[tensors], const int64_t (&offsets)[tensors], int64_t rows,
               int64_t begin, int64_t end) const {
    Part part{rows, end - begin, {}};
    for (int t = 0; t < tensors; ++t) {
      const int64_t stride = axes_.rank > 0 ? axes_.strides[t][axes_.rank - 1] : 0;
      if (data[t] == nullptr) continue;
      part.at[t] = {data[t] + offsets[t] + begin * stride, rows_.inner_stride(t), stride};
    }
    return part;
  }

  Axes<tensors> axes_;
  int64_t n_;
  Rows<tensors> rows_;
};

}  // namespace npu_quant
