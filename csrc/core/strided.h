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

// Element (row, i) lies at data + row * row_stride + i * stride, in bytes; where there are axes, i
// counts over them and stride is the last one's. data is null where the tensor is not wanted.
struct Strided {
  char* data = nullptr;
  int64_t row_stride = 0;
  int64_t stride = 0;
  const RowAxes* axes = nullptr;

  Strided from(int64_t row, int64_t i) const {
    return {data == nullptr ? nullptr : data + row * row_stride + i * stride, row_stride, stride,
            axes};
  }
};

}  // namespace npu_quant
