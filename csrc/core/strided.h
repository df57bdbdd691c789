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

// Of codes of 4 bits an element of 32 holds 8; they are stepped over together also where two to a
// byte are all that is whole.
inline constexpr int64_t kPackedCodes = 8, kPackedItem = 4;

// Element (row, i) lies at data + row * row_stride + i * stride, in bytes; where there are axes, i
// counts over them and stride is the last one's. data is null where the tensor is not wanted. Where
// codes are packed, i counts codes and the stride is that of 8; all that is asked for begins with
// 8 whole ones, and ends so too, unless elements follow on each other: then with a whole byte.
struct Strided {
  char* data = nullptr;
  int64_t row_stride = 0;
  int64_t stride = 0;
  const RowAxes* axes = nullptr;
  bool packed = false;

  // Where an element is that is not packed.
  char* at(int64_t row, int64_t i) const { return data + row * row_stride + i * stride; }

  Strided from(int64_t row, int64_t i) const {
    const int64_t element = packed ? i / kPackedCodes : i;
    return {data == nullptr ? nullptr : data + row * row_stride + element * stride, row_stride,
            stride, axes, packed};
  }
};

}  // namespace npu_quant
