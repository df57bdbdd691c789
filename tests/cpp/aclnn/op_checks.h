// What the tests of the operators share: tensors of any dtype from floats, and what phase 1 says.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tensors.h"

namespace npu_quant::testing {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr aclDataType kFloatDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

// The bits of a half that holds the value: not a subnormal one.
inline uint16_t half(float value) {
  const auto bits = bits_as<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, mantissa = bits >> 13 & 0x3ff;
  uint32_t exponent = bits >> 23 & 0xff;
  if (exponent != 0 && exponent != 255) {
    EXPECT_TRUE(exponent > 112 && exponent < 143 && (bits & 0x1fff) == 0) << value;
    exponent -= 112;
  }
  return static_cast<uint16_t>(sign | (exponent == 255 ? 31 : exponent) << 10 | mantissa);
}

inline float float_of_half(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  if (exponent == 0) return (sign != 0 ? -1.0f : 1.0f) * static_cast<float>(mantissa) * 0x1p-24f;
  return bits_as<float>(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13);
}

// The bits of a bfloat16 that holds the value.
inline uint16_t bfloat(float value) {
  const auto bits = bits_as<uint32_t>(value);
  EXPECT_EQ(bits & 0xffff, 0U) << value;
  return static_cast<uint16_t>(bits >> 16);
}

inline float float_of_bfloat(uint16_t bits) {
  return bits_as<float>(static_cast<uint32_t>(bits) << 16);
}

template <class To, class From>
To number(From value) {
  return static_cast<To>(value);
}
// A byte, signed or not.
inline int8_t byte(float value) { return static_cast<int8_t>(static_cast<int>(value)); }

template <class T, class Convert>
Tensor spread(const std::vector<float>& values, const Dims& shape, aclDataType dtype,
              const Dims& strides, int64_t offset, const Convert& convert) {
  std::vector<T> elements;
  for (const float value : values) elements.push_back(convert(value));
  return strided_tensor<T>(elements, shape, dtype, strides, offset, T{55});
}

// The values, which the dtype must hold exactly, at strides and an offset in elements. Types that
// no operator takes are as good as bytes.
inline Tensor strided_of(const std::vector<float>& values, const Dims& shape, aclDataType dtype,
                         const Dims& strides, int64_t offset = 0) {
  switch (dtype) {
    case ACL_FLOAT:
      return spread<float>(values, shape, dtype, strides, offset, number<float, float>);
    case ACL_DOUBLE:
      return spread<double>(values, shape, dtype, strides, offset, number<double, float>);
    case ACL_FLOAT16: return spread<uint16_t>(values, shape, dtype, strides, offset, half);
    case ACL_BF16: return spread<uint16_t>(values, shape, dtype, strides, offset, bfloat);
    case ACL_INT16:
      return spread<int16_t>(values, shape, dtype, strides, offset, number<int16_t, float>);
    case ACL_INT32:
      return spread<int32_t>(values, shape, dtype, strides, offset, number<int32_t, float>);
    case ACL_INT64:
    case ACL_UINT64:
      return spread<int64_t>(values, shape, dtype, strides, offset, number<int64_t, float>);
    default: return spread<int8_t>(values, shape, dtype, strides, offset, byte);
  }
}

inline Tensor tensor_of(const std::vector<float>& values, const Dims& shape, aclDataType dtype) {
  return strided_of(values, shape, dtype, contiguous_strides(shape));
}

// As many as the shape has.
inline Tensor ones(const Dims& shape, aclDataType dtype) {
  return tensor_of(std::vector<float>(static_cast<size_t>(count_of(shape)), 1), shape, dtype);
}

// An output's elements, each exactly as a float, as strided_of() takes them.
inline std::vector<float> floats_in(const Tensor& tensor, aclDataType dtype) {
  std::vector<float> values;
  const auto append = [&](const auto& elements, const auto& convert) {
    for (const auto element : elements) values.push_back(convert(element));
  };
  const auto append_bytes = [&](const auto& elements) {
    for (const auto element : elements)
      for (size_t i = 0; i < sizeof element; ++i)
        values.push_back(static_cast<float>(element >> 8 * i & 255));
  };
  switch (dtype) {
    case ACL_INT32: append_bytes(tensor.host<int32_t>()); break;
    case ACL_INT64:
    case ACL_UINT64: append_bytes(tensor.host<int64_t>()); break;
    case ACL_FLOAT: append(tensor.host<float>(), number<float, float>); break;
    case ACL_FLOAT16: append(tensor.host<uint16_t>(), float_of_half); break;
    case ACL_BF16: append(tensor.host<uint16_t>(), float_of_bfloat); break;
    case ACL_INT8: append(tensor.host<int8_t>(), number<float, int8_t>); break;
    default: append(tensor.host<uint8_t>(), number<float, uint8_t>);
  }
  return values;
}

// The bytes that hold codes of 4 bits: of two the first is the low nibble.
inline std::vector<uint8_t> nibbles_of(const std::vector<int8_t>& codes) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < codes.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>((codes[i] & 15) | (codes.at(i + 1) & 15) << 4));
  return bytes;
}

// What phase 1 says; an executor it made is destroyed.
template <class Phase1>
aclnnStatus status_of(const Phase1& phase1) {
  uint64_t workspace_size = 1;
  aclOpExecutor* executor = nullptr;
  const aclnnStatus status = phase1(&workspace_size, &executor);
  if (status == 0) {
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  }
  return status;
}

// Phase 1 says no with that code, in words that hold `text`, and leaves what it was given alone.
template <class Phase1>
void expect_refused(const Phase1& phase1, aclnnStatus code, const std::string& text) {
  while (aclGetRecentErrMsg() != nullptr) continue;
  uint64_t workspace_size = 12345;
  aclOpExecutor* const before = reinterpret_cast<aclOpExecutor*>(&workspace_size);
  aclOpExecutor* executor = before;
  EXPECT_EQ(phase1(&workspace_size, &executor), code);
  EXPECT_EQ(workspace_size, 12345U);
  EXPECT_EQ(executor, before);
  const char* message = aclGetRecentErrMsg();
  ASSERT_NE(message, nullptr);
  EXPECT_NE(std::string(message).find(text), std::string::npos) << message;
}

}  // namespace npu_quant::testing
