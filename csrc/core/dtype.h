// What arrays hold: the element types this library knows. What codes mean is core/format.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npu_quant {

// The values are those of the formats (core/format.h): ACL's codes.
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
  float8_e5m2 = 35,
  float8_e4m3fn = 36,
  float8_e8m0fnu = 37,
  other = -1,  // anything else; TensorView::dtype_name says what
};

// What is none of ours counts as bytes.
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
    case DType::int8:
    case DType::uint8:
    case DType::boolean:
    case DType::float8_e5m2:
    case DType::float8_e4m3fn:
    case DType::float8_e8m0fnu:
    case DType::other: return 1;
  }
  __builtin_trap();
}

// An element at any address: NumPy arrays can be unaligned. It is a struct because an attribute of
// a type is lost where that is a template's argument.
template <class T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};
static_assert(alignof(Unaligned<double>) == 1 && sizeof(Unaligned<double>) == sizeof(double));

}  // namespace npu_quant
