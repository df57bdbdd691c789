// Rows of several axes, piece by piece.
#pragma once

#include "core/rows.h"
#include "kernels/elementwise.h"

namespace npu_quant {
namespace {

// One of several tensors whose rows have the same axes: where its elements lie, or by way of a
// buffer of kPiece of them.
template <class Elements, int tensors>
class RowPieces {
 public:
  using T = typename Elements::Storage;

  RowPieces(char* data, int64_t row_stride, const Axes<tensors>& row, int tensor)
      : data_(data), row_stride_(row_stride), row_(row), strides_(row.strides[tensor]) {
    const bool contiguous = row_.rank == 0 || (row_.rank == 1 && strides_[0] == kItem);
    is_direct_ = contiguous && data_ != nullptr;
  }

  bool is_wanted() const { return data_ != nullptr; }
  bool is_direct() const { return is_direct_; }
  bool is_contiguous_at_vectors() const {
    return is_direct_ && is_vector_aligned(data_) && row_stride_ % kVectorBytes == 0;
  }
  // To be written by way of the buffer, and streamed from there.
  void stream_from_buffer() {
    streams_ = is_direct_;
    is_direct_ = false;
  }

  T* in_place(int64_t row, int64_t i) const {
    return reinterpret_cast<T*>(data_ + row * row_stride_) + i;
  }
  NPU_QUANT_INLINE const T* read(int64_t row, int64_t i, int64_t count) {
    if (is_direct_) return in_place(row, i);
    char* to = reinterpret_cast<char*>(buffer_);
    for_each_run(row, i, count, [&](char* from, int64_t stride, int64_t n) {
      for (int64_t k = 0; k < n; ++k) std::memcpy(to + k * kItem, from + k * stride, sizeof(T));
      to += n * kItem;
    });
    return buffer_;
  }
  NPU_QUANT_INLINE T* begin_write(int64_t row, int64_t i) {
    return is_direct_ ? in_place(row, i) : buffer_;
  }
  NPU_QUANT_INLINE void end_write(int64_t row, int64_t i, int64_t count) {
    if (is_direct_ || data_ == nullptr) return;
    if (streams_)
      return put_piece(buffer_, count, {data_ + row * row_stride_ + i * kItem, 0, kItem});
    const char* from = reinterpret_cast<const char*>(buffer_);
    for_each_run(row, i, count, [&](char* to, int64_t stride, int64_t n) {
      for (int64_t k = 0; k < n; ++k) std::memcpy(to + k * stride, from + k * kItem, sizeof(T));
      from += n * kItem;
    });
  }

 private:
  static constexpr int64_t kItem = sizeof(T);

  // Elements [i, i + count) of a row, in runs along its last axis.
  template <class Run>
  void for_each_run(int64_t row, int64_t i, int64_t count, Run run) const {
    const int last = row_.rank - 1;
    const int64_t inner = last < 0 ? 1 : row_.dims[last];
    while (count > 0) {
      const int64_t n = least(inner - i % inner, count);
      int64_t offset = row * row_stride_, rest = i;
      for (int axis = last; axis >= 0; --axis) {
        offset += rest % row_.dims[axis] * strides_[axis];
        rest /= row_.dims[axis];
      }
      run(data_ + offset, last < 0 ? kItem : strides_[last], n);
      i += n;
      count -= n;
    }
  }

  char* data_;
  int64_t row_stride_;
  const Axes<tensors>& row_;
  const int64_t* strides_;
  bool is_direct_, streams_ = false;
  alignas(64) T buffer_[kPiece];
};

}  // namespace
}  // namespace npu_quant
