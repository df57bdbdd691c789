// The one table of what arrays hold and of what codes mean; core/format.h has it as data.
#pragma once

#include <cstddef>
#include <cstdint>

// ARRAY(name, ACL's code, name in messages, ACL's name, bits, greatest value, least step, more) is
// what arrays hold as it is: a DType, and the Format of the same value.
// CODES(name, ACL's code, DType of NumPy's arrays, the rest as above) are bits in arrays of another
// type; the DType of the same value is an aclTensor's, whose elements are such codes.
//
// torch_npu writes ACL's codes as 256 + code. The greatest value is finite, that of 64-bit integers
// the greatest double; the least step lies between the codes at the bottom: 1, or the least
// subnormal. More: torch's codes, and whether no caller may ask for it.
// clang-format off
#define NPU_QUANT_FORMATS(ARRAY, CODES)                                                            \
  ARRAY(float32, 0, "float32", "ACL_FLOAT", 32, FLT_MAX, 0x1p-149, {6})                            \
  ARRAY(float16, 1, "float16", "ACL_FLOAT16", 16, 65504, 0x1p-24, {5})                             \
  ARRAY(int8, 2, "int8", "ACL_INT8", 8, 127, 1, {1, 12})                                           \
  ARRAY(int32, 3, "int32", "ACL_INT32", 32, 0x1.fffffffcp30, 1, {3, 14})                           \
  ARRAY(uint8, 4, "uint8", "ACL_UINT8", 8, 255, 1, {0, 13})                                        \
  ARRAY(int16, 6, "int16", "ACL_INT16", 16, 32767, 1, {2})                                         \
  ARRAY(uint16, 7, "uint16", "ACL_UINT16", 16, 65535, 1, {27}, true)                               \
  ARRAY(uint32, 8, "uint32", "ACL_UINT32", 32, 0x1.fffffffep31, 1, {28}, true)                     \
  ARRAY(int64, 9, "int64", "ACL_INT64", 64, 0x1.fffffffffffffp62, 1, {4})                          \
  ARRAY(uint64, 10, "uint64", "ACL_UINT64", 64, 0x1.fffffffffffffp63, 1, {29}, true)               \
  ARRAY(float64, 11, "float64", "ACL_DOUBLE", 64, DBL_MAX, 0x1p-1074, {7})                         \
  ARRAY(boolean, 12, "bool", "ACL_BOOL", 8, 1, 1, {11})                                            \
  ARRAY(bfloat16, 27, "bfloat16", "ACL_BF16", 16, 0x1.fep127, 0x1p-133, {15})                      \
  CODES(int4, 29, int32, "int4", "ACL_INT4", 4, 7, 1, {16})                                        \
  CODES(hifloat8, 34, uint8, "hifloat8", "ACL_HIFLOAT8", 8, 32768, 0x1p-22)                        \
  ARRAY(float8_e5m2, 35, "float8_e5m2", "ACL_FLOAT8_E5M2", 8, 57344, 0x1p-16, {23})                \
  ARRAY(float8_e4m3fn, 36, "float8_e4m3fn", "ACL_FLOAT8_E4M3FN", 8, 448, 0x1p-9, {24})             \
  ARRAY(float8_e8m0fnu, 37, "float8_e8m0fnu", "ACL_FLOAT8_E8M0", 8, 0x1p127, 0x1p-127, {44})       \
  CODES(float4_e2m1, 40, uint8, "float4_e2m1", "ACL_FLOAT4_E2M1", 4, 6, 0.5, {45})                 \
  CODES(float4_e1m2, 41, uint8, "float4_e1m2", "ACL_FLOAT4_E1M2", 4, 1.75, 0.25)
// clang-format on

namespace npu_quant {

#define NPU_QUANT_ENUMERATOR(name, code, ...) name = code,
#define NPU_QUANT_SIZE(name, code, text, acl_name, bits, ...) \
  case DType::name: return bits / 8;
#define NPU_QUANT_BYTE(name, ...) \
  case DType::name: return 1;

enum class DType : int {
  other = -1,  // none of these; TensorView::dtype_name says what
  NPU_QUANT_FORMATS(NPU_QUANT_ENUMERATOR, NPU_QUANT_ENUMERATOR)
};

enum class Format : int {
  other = -1,
  NPU_QUANT_FORMATS(NPU_QUANT_ENUMERATOR, NPU_QUANT_ENUMERATOR)
};

// What is none of ours counts as bytes, and so do two codes that share one. Always inline: it is
// the same for any target.
[[gnu::always_inline]] constexpr int64_t size_of(DType dtype) {
  switch (dtype) {
    NPU_QUANT_FORMATS(NPU_QUANT_SIZE, NPU_QUANT_BYTE)
    case DType::other: return 1;
  }
  __builtin_trap();
}

#undef NPU_QUANT_ENUMERATOR
#undef NPU_QUANT_SIZE
#undef NPU_QUANT_BYTE

// An element at any address: NumPy arrays can be unaligned. It is a struct because an attribute of
// a type is lost where that is a template's argument.
template <class T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};
static_assert(alignof(Unaligned<double>) == 1 && sizeof(Unaligned<double>) == sizeof(double));

}  // namespace npu_quant
