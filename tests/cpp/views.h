// Views of vectors, for tests of the ops.
#pragma once

#include <initializer_list>
#include <vector>

#include "ops/contract.h"
#include "reference.h"

namespace npu_quant::testing {

inline DType dtype_of(float) { return DType::float32; }
inline DType dtype_of(int8_t) { return DType::int8; }
inline DType dtype_of(uint8_t) { return DType::uint8; }
inline DType dtype_of(int32_t) { return DType::int32; }

// A contiguous view of that shape.
template <class T>
TensorView view(std::vector<T>& values, std::initializer_list<int64_t> dims) {
  TensorView v;
  v.present = true;
  v.data = reinterpret_cast<char*>(values.data());
  v.dtype = dtype_of(T{});
  v.dtype_name = name_of(v.dtype);
  v.writable = true;
  v.rank = v.shape.rank = static_cast<int>(dims.size());
  int64_t stride = sizeof(T);
  for (int i = v.rank - 1; i >= 0; --i) {
    v.shape.dims[i] = dims.begin()[i];
    v.strides[i] = stride;
    stride *= v.shape.dims[i];
  }
  return v;
}

inline DTypeRequest requested(DType dtype) {
  return {.is_default = false, .format = format_of(dtype)};
}

}  // namespace npu_quant::testing
