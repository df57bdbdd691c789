// Walks the rows (all axes but the last) of several tensors of the same leading shape at once.
#pragma once

#include "core/tensor.h"

namespace npu_quant {

template <int tensors>
class Rows {
 public:
  // Axes of length 1 vanish and axes that are one arithmetic progression in every tensor merge, so
  // that the usual case is a single axis. strides[t][axis] is in bytes.
  Rows(const int64_t* dims, int rank, const int64_t* const (&strides)[tensors]) {
    for (int axis = 0; axis < rank; ++axis) {
      count_ *= dims[axis];
      if (dims[axis] == 1) continue;
      if (rank_ > 0 && continues(strides, axis, dims[axis])) {
        dims_[rank_ - 1] *= dims[axis];
      } else {
        dims_[rank_++] = dims[axis];
      }
      for (int t = 0; t < tensors; ++t) strides_[t][rank_ - 1] = strides[t][axis];
    }
  }

  int64_t count() const { return count_; }
  bool is_single_axis() const { return rank_ <= 1; }
  int64_t inner_stride(int tensor) const { return rank_ > 0 ? strides_[tensor][rank_ - 1] : 0; }

  // Calls run(offsets, rows) for rows [begin, end) in pieces whose rows are inner_stride apart.
  template <class Run>
  void for_each_run(int64_t begin, int64_t end, Run run) const {
    const int64_t inner = rank_ > 0 ? dims_[rank_ - 1] : 1;
    while (begin < end) {
      const int64_t rows =
          inner - begin % inner < end - begin ? inner - begin % inner : end - begin;
      int64_t offsets[tensors] = {};
      int64_t rest = begin;
      for (int axis = rank_ - 1; axis >= 0; --axis) {
        for (int t = 0; t < tensors; ++t) offsets[t] += rest % dims_[axis] * strides_[t][axis];
        rest /= dims_[axis];
      }
      run(offsets, rows);
      begin += rows;
    }
  }

 private:
  bool continues(const int64_t* const (&strides)[tensors], int axis, int64_t dim) const {
    for (int t = 0; t < tensors; ++t)
      if (strides_[t][rank_ - 1] != strides[t][axis] * dim) return false;
    return true;
  }

  int64_t count_ = 1;
  int rank_ = 0;
  int64_t dims_[kMaxRank] = {};
  int64_t strides_[tensors][kMaxRank] = {};
};

}  // namespace npu_quant
