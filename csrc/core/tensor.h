// A borrowed, strided view of an array: what both faces hand to the ops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace npu_quant {

inline constexpr int kMaxRank = 8;

struct Shape {
  int rank = 0;
  int64_t dims[kMaxRank] = {};

  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
  // Whether there are at most so many elements; axes of length 0 are left out of the count.
  bool has_at_most(int64_t most) const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i)
      if (__builtin_mul_overflow(n, dims[i] > 0 ? dims[i] : 1, &n) || n > most) return false;
    return true;
  }
  bool operator==(const Shape& other) const {
    if (rank != other.rank) return false;
    for (int i = 0; i < rank; ++i)
      if (dims[i] != other.dims[i]) return false;
    return true;
  }
};

struct TensorView {
  bool present = false;  // false: the argument was None or a null pointer
  char* data = nullptr;
  DType dtype = DType::other;
  const char* dtype_name = "other";  // borrowed; tells more than `dtype` where that is `other`
  bool writable = false;
  bool of_torch = false;  // for messages: its dtype is changed by other words
  int rank = 0;  // may exceed kMaxRank, then shape and strides hold the first kMaxRank only
  Shape shape;
  // In bytes. Elements of 4 bits follow on each other, an even number in the last axis: its stride
  // is that of two, which share a byte.
  int64_t strides[kMaxRank] = {};

  bool is_packed() const { return npu_quant::is_packed(format_of(dtype)); }
  // Of the elements.
  int64_t bytes() const { return shape.size() * size_of(dtype) / (is_packed() ? 2 : 1); }

  // The half-open range of bytes that the elements touch; empty where there are none.
  struct Bounds {
    const char* begin;
    const char* end;
  };
  Bounds bounds() const {
    Bounds b{data, data};
    if (shape.size() == 0) return b;
    if (is_packed()) return {data, data + bytes()};
    b.end += size_of(dtype);
    for (int i = 0; i < shape.rank; ++i) {
      const int64_t extent = (shape.dims[i] - 1) * strides[i];
      (extent < 0 ? b.begin : b.end) += extent;
    }
    return b;
  }
};

// One that is not given, or not wanted.
inline constexpr TensorView kAbsent{};

// Of elements that lie one after the other, to be read.
inline TensorView contiguous_view(const void* data, DType dtype, int64_t count) {
  TensorView view;
  view.present = true;
  view.data = static_cast<char*>(const_cast<void*>(data));
  view.dtype = dtype;
  view.dtype_name = name_of(dtype);
  view.rank = view.shape.rank = 1;
  view.shape.dims[0] = count;
  view.strides[0] = size_of(dtype);
  return view;
}

}  // namespace npu_quant
