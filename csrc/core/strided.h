// Where a kernel finds a tensor's elements.
#pragma once

#include <cstdint>

namespace npu_quant {

// Element (row, i) lies at data + row * row_stride + i * stride, in bytes. data is null where the
// tensor is not wanted.
struct Strided {
  char* data = nullptr;
  int64_t row_stride = 0;
  int64_t stride = 0;

  Strided from(int64_t row, int64_t i) const {
    return {data == nullptr ? nullptr : data + row * row_stride + i * stride, row_stride, stride};
  }
};

}  // namespace npu_quant
