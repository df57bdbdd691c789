// Walks several tensors of one shape together.
#pragma once

#include "core/strided.h"
#include "core/tensor.h"

namespace npu_quant {

// The strides of codes: those of the array or, where codes are packed, in eighths of a byte, from a
// code to the next, so that rows that lie one after the other are one row. Those of the last axis
// are the same number in bytes, from 8 codes to the next.
class CodeStrides {
 public:
  CodeStrides(const TensorView& view, bool packed) : data_(packed ? packed_ : view.strides) {
    if (!packed) return;
    item_ = view.is_packed() ? kPackedItem : size_of(view.dtype);
    const int last = view.shape.rank - 1;
    const int64_t elements = kPackedItem / item_;  // of 8 codes
    for (int axis = 0; axis < kMaxRank; ++axis)    // an absent one has no axes
      packed_[axis] =
          axis > last ? 0 : view.strides[axis] * (axis == last ? elements : kPackedCodes);
    if (view.is_packed()) packed_[last] = kPackedItem;
  }
  CodeStrides(const CodeStrides&) = delete;

  const int64_t* data() const { return data_; }
  // Of an element that packed codes share, or 0.
  int64_t item() const { return item_; }

 private:
  const int64_t* data_;
  int64_t item_ = 0;
  int64_t packed_[kMaxRank];
};

// Axes that several tensors share; strides[t][axis] is in bytes. What lies beyond the rank is not
// set: every small call makes some of these.
template <int tensors>
struct Axes {
  int rank = 0;
  int64_t dims[kMaxRank];
  int64_t strides[tensors][kMaxRank];

  Axes() = default;
  Axes(const int64_t* all_dims, int all, const int64_t* const (&all_strides)[tensors]) {
    for (int axis = 0; axis < all; ++axis)
      append(all_dims[axis], [&](int t) { return all_strides[t][axis]; });
  }

  // An axis inside of all others. Where it may join them, one of length 1 vanishes, and one that
  // goes on with the last as one arithmetic progression in every tensor is one with it: the usual
  // case is a single axis.
  template <class StrideOf>
  void append(int64_t dim, StrideOf stride_of, bool may_join = true) {
    if (dim == 1 && may_join) return;
    bool continues = may_join && rank > 0;
    for (int t = 0; t < tensors && continues; ++t)
      continues = strides[t][rank - 1] == stride_of(t) * dim;
    if (continues)
      dims[rank - 1] *= dim;
    else
      dims[rank++] = dim;
    for (int t = 0; t < tensors; ++t) strides[t][rank - 1] = stride_of(t);
  }

  // Takes the last axis away and returns its place, where its strides still are; -1 where there is
  // none, and leaves `dim` as it is.
  int pop(int64_t& dim) {
    if (rank == 0) return -1;
    dim = dims[--rank];
    return rank;
  }

  int64_t count() const {
    int64_t count = 1;
    for (int axis = 0; axis < rank; ++axis) count *= dims[axis];
    return count;
  }

  // Where the element is that is so many after the first.
  void find_offsets(int64_t index, int64_t (&offsets)[tensors]) const {
    for (int64_t& offset : offsets) offset = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      for (int t = 0; t < tensors; ++t) offsets[t] += index % dims[axis] * strides[t][axis];
      index /= dims[axis];
    }
  }

  // The same with the axes in the order of one tensor's strides, the longest first, so that this
  // tensor is walked as it lies in memory.
  static Axes in_order_of(int tensor, const int64_t* all_dims, int all,
                          const int64_t* const (&all_strides)[tensors]) {
    int order[kMaxRank];
    const auto length = [&](int axis) {
      const int64_t stride = all_strides[tensor][axis];
      return stride < 0 ? -stride : stride;
    };
    for (int axis = 0; axis < all; ++axis) {
      int place = axis;
      for (; place > 0 && length(order[place - 1]) < length(axis); --place)
        order[place] = order[place - 1];
      order[place] = axis;
    }
    Axes axes;
    for (int i = 0; i < all; ++i)
      axes.append(all_dims[order[i]], [&](int t) { return all_strides[t][order[i]]; });
    return axes;
  }

  Axes without_last() const {
    Axes axes;
    axes.rank = rank > 0 ? rank - 1 : 0;
    for (int axis = 0; axis < axes.rank; ++axis) {
      axes.dims[axis] = dims[axis];
      for (int t = 0; t < tensors; ++t) axes.strides[t][axis] = strides[t][axis];
    }
    return axes;
  }
};

// The rows, that is all axes but the last, of several tensors of the same leading shape.
template <int tensors>
class Rows {
 public:
  Rows(const int64_t* dims, int rank, const int64_t* const (&strides)[tensors])
      : axes_(dims, rank, strides), count_(count_of(axes_)) {}
  // All axes but the last.
  explicit Rows(const Axes<tensors>& axes) : axes_(axes.without_last()), count_(count_of(axes_)) {}

  int64_t count() const { return count_; }
  bool is_single_axis() const { return axes_.rank <= 1; }
  int64_t inner_stride(int tensor) const {
    return axes_.rank > 0 ? axes_.strides[tensor][axes_.rank - 1] : 0;
  }

  // Rows of n elements whose segments threads share: calls run(offsets, rows, first, last) for
  // elements [first, last) of some rows, which are the segments [begin, end) of all.
  template <class Run>
  void for_each_segment(int64_t begin, int64_t end, int64_t n, int64_t segment, Run run) const {
    const int64_t segments = segments_of(n, segment);
    if (segments == 1)
      return for_each_run(begin, end, [&](const int64_t(&offsets)[tensors], int64_t rows) {
        run(offsets, rows, 0, n);
      });
    while (begin < end) {
      const int64_t row = begin / segments, first = begin % segments;
      const int64_t last = segments - first < end - begin ? segments : first + end - begin;
      for_each_run(row, row + 1, [&](const int64_t(&offsets)[tensors], int64_t rows) {
        run(offsets, rows, first * segment, last * segment < n ? last * segment : n);
      });
      begin += last - first;
    }
  }
  static int64_t segments_of(int64_t n, int64_t segment) {
    return n > segment ? (n + segment - 1) / segment : 1;
  }

  // Calls run(offsets, rows) for rows [begin, end) in pieces whose rows are inner_stride apart.
  template <class Run>
  void for_each_run(int64_t begin, int64_t end, Run run) const {
    const int64_t inner = axes_.rank > 0 ? axes_.dims[axes_.rank - 1] : 1;
    while (begin < end) {
      const int64_t rows =
          inner - begin % inner < end - begin ? inner - begin % inner : end - begin;
      int64_t offsets[tensors] = {};
      int64_t rest = begin;
      for (int axis = axes_.rank - 1; axis >= 0; --axis) {
        for (int t = 0; t < tensors; ++t)
          offsets[t] += rest % axes_.dims[axis] * axes_.strides[t][axis];
        rest /= axes_.dims[axis];
      }
      run(offsets, rows);
      begin += rows;
    }
  }

 private:
  static int64_t count_of(const Axes<tensors>& axes) {
    int64_t count = 1;
    for (int axis = 0; axis < axes.rank; ++axis) count *= axes.dims[axis];
    return count;
  }

  Axes<tensors> axes_;
  int64_t count_;
};

}  // namespace npu_quant
