// How elementwise work is laid out: the axes in memory order, split into rows and segments of rows
// that threads share.
#pragma once

#include <utility>

#include "core/parallel.h"
#include "core/rows.h"
#include "core/strided.h"

namespace npu_quant {

template <int tensors>
class Elementwise {
 public:
  // The part of the work that a kernel is called for.
  struct Part {
    int64_t rows, n;
    Strided at[tensors];
  };

  // Walks `shape` as the tensor `read` lies in memory: reading line by line costs less than writing
  // so. A broadcast one has no order, then as `written` lies. With a tensor of packed codes, whose
  // strides and items are those of CodeStrides, it walks as the shape has it: codes that share an
  // element come one after the other.
  Elementwise(const Shape& shape, int read, int written, const int64_t* const (&strides)[tensors],
              const int64_t (&packed_items)[tensors] = {})
      : axes_(has_packed(packed_items)
                  ? Axes<tensors>(shape.dims, shape.rank, strides)
                  : Axes<tensors>::in_order_of(is_broadcast(shape, strides[read]) ? written : read,
                                               shape.dims, shape.rank, strides)),
        n_(axes_.rank > 0 ? axes_.dims[axes_.rank - 1] : 1),
        rows_(axes_) {
    for (int t = 0; t < tensors; ++t) packed_items_[t] = packed_items[t];
  }

  // Calls run(part) with the tensors that begin at `data`; `bytes` is what all of it reads and
  // writes.
  template <class Run>
  void for_each_part(char* const (&data)[tensors], int64_t bytes, Run run) const {
    if (rows_.count() == 0 || n_ == 0) return;
    const int64_t count = rows_.count() * rows_.segments_of(n_, kSegment);
    parallel_for(count, bytes, [&](int64_t begin, int64_t end) {
      rows_.for_each_segment(begin, end, n_, kSegment,
                             [&](const int64_t(&offsets)[tensors], int64_t rows, int64_t first,
                                 int64_t last) { run(part_at(data, offsets, rows, first, last)); });
    });
  }

 private:
  static constexpr int64_t kSegment = 1 << 15;  // elements

  static bool has_packed(const int64_t (&items)[tensors]) {
    int64_t all = 0;
    for (const int64_t item : items) all |= item;
    return all != 0;
  }

  // One element stands for several.
  static bool is_broadcast(const Shape& shape, const int64_t* strides) {
    for (int axis = 0; axis < shape.rank; ++axis)
      if (strides[axis] == 0 && shape.dims[axis] > 1) return true;
    return false;
  }

  Part part_at(char* const (&data)[tensors], const int64_t (&offsets)[tensors], int64_t rows,
               int64_t begin, int64_t end) const {
    Part part{rows, end - begin, {}};
    for (int t = 0; t < tensors; ++t) {
      const int64_t stride = axes_.rank > 0 ? axes_.strides[t][axes_.rank - 1] : 0;
      if (data[t] == nullptr) continue;
      const int64_t offset = offsets[t] + begin * stride, row_stride = rows_.inner_stride(t);
      if (packed_items_[t] > 0)
        part.at[t] = {data[t] + offset / kPackedCodes, row_stride / kPackedCodes, stride, nullptr,
                      packed_items_[t]};
      else
        part.at[t] = {data[t] + offset, row_stride, stride};
    }
    return part;
  }

  Axes<tensors> axes_;
  int64_t n_;
  Rows<tensors> rows_;
  int64_t packed_items_[tensors];  // 0 where codes are not packed
};

}  // namespace npu_quant
