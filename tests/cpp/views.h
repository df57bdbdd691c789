// Views of vectors, for tests of the ops.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "ops/contract/contract.h"
#include "reference.h"

namespace npu_quant::testing {

inline DType dtype_of(float) { return DType::float32; }
inline DType dtype_of(int8_t) { return DType::int8; }
inline DType dtype_of(uint8_t) { return DType::uint8; }
inline DType dtype_of(int32_t) { return DType::int32; }

// A contiguous view of that shape.
inline TensorView view(void* data, DType dtype, const Shape& shape) {
  TensorView v = contiguous_view(data, dtype, 1);
  v.writable = true;
  v.rank = shape.rank;
  v.shape = shape;
  int64_t stride = size_of(dtype);
  for (int i = v.rank - 1; i >= 0; --i) {
    v.strides[i] = stride;
    stride *= shape.dims[i];
  }
  return v;
}
inline Shape shape_of(const std::vector<int64_t>& dims) {
  Shape shape{static_cast<int>(dims.size()), {}};
  std::copy(dims.begin(), dims.end(), shape.dims);
  return shape;
}
template <class T>
TensorView view(std::vector<T>& values, std::initializer_list<int64_t> dims) {
  return view(values.data(), dtype_of(T{}), shape_of(dims));
}

inline DTypeRequest requested(Format format) { return {.is_default = false, .format = format}; }
inline DTypeRequest requested(DType dtype) { return requested(format_of(dtype)); }

}  // namespace npu_quant::testing
