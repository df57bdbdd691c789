// The element types this library knows, and their names in messages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npu_quant {

// The values are ACL's codes; torch_npu writes them as 256 + code (npu_quant/dtypes.py).
enum class DType : int {
  float32 = 0,
  float16 = 1,
  int8 = 2,
  int32 = 3,
  uint8 = 4,
  int16 = 6,
  uint16 = 7,
  uint32 = 8,
  int64 = 9,
  uint64 = 10,
  float64 = 11,
  boolean = 12,
  bfloat16 = 27,
  other = -1,  // anything else; TensorView::dtype_name says what
};

inline const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::float16: return "float16";
    case DType::int8: return "int8";
    case DType::int32: return "int32";
    case DType::uint8: return "uint8";
    case DType::int16: return "int16";
    case DType::uint16: return "uint16";
    case DType::uint32: return "uint32";
    case DType::int64: return "int64";
    case DType::uint64: return "uint64";
    case DType::float64: return "float64";
    case DType::boolean: return "bool";
    case DType::bfloat16: return "bfloat16";
    case DType::other: break;
  }
  return "other";
}

inline int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::int64:
    case DType::uint64:
    case DType::float64: return 8;
    case DType::float32:
    case DType::int32:
    case DType::uint32: return 4;
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16: return 2;
    default: return 1;
  }
}

// An element at any address: NumPy arrays can be unaligned. It is a struct because an attribute of
// a type is lost where that is a template's argument.
template <class T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};
static_assert(alignof(Unaligned<double>) == 1 && sizeof(Unaligned<double>) == sizeof(double));

}  // namespace npu_quant
