// Axes of several tensors of one shape, walked together.
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
};

}  // namespace npu_quant
