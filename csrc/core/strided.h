// Where a kernel finds a tensor's elements.
#pragma once

#include <cstdint>

namespace npu_quant {

// The axes of a row that is no single arithmetic progression.
struct RowAxes {
  int rank;
  const int64_t* dims;
  const int64_t* strides;  // in bytes
};

// Codes of 4 bits are stepped over 8 together: an element of 32 bits holds so many, 4 bytes hold
// two each.
inline constexpr int64_t kPackedCodes = 8, kPackedItem = 4;

// Element (row, i) lies at data + row * row_stride + i * stride, in bytes; where there are axes, i
// counts over them and stride is the last one's. data is null where the tensor is not wanted. Where
// codes are packed, i counts codes and the stride is that of 8; all that is asked for begins with
// 8 whole ones, and ends with a whole element, or byte where elements follow on each other.
struct Strided {
  char* data = nullptr;
  int64_t row_stride = 0;
  int64_t stride = 0;
  const RowAxes* axes = nullptr;
  int64_t packed_item = 0;  // so many bytes are the elements that packed codes share

  // Always inline, as kernels have their own: linked as one function, it would be any target's.
  [[gnu::always_inline]] bool packed() const { return packed_item > 0; }

  // Where an element is that is not packed.
  [[gnu::always_inline]] char* at(int64_t row, int64_t i) const {
    return data + row * row_stride + i * stride;
  }

  [[gnu::always_inline]] Strided from(int64_t row, int64_t i) const {
    const int64_t element = packed() ? i / kPackedCodes : i;
    return {data == nullptr ? nullptr : data + row * row_stride + element * stride, row_stride,
            stride, axes, packed_item};
  }
};

}  // namespace npu_quant
