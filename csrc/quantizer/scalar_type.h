// PyTorch's quantized scalar types: what a code is, and by which numbers and names they go.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/contract/contract.h"

namespace npu_quant {

// A code of each type (c10/util/qint8.h and its neighbours).
struct qint8 {
  using underlying = int8_t;
  int8_t val_;
  explicit constexpr qint8(int8_t val) : val_(val) {}
};
struct quint8 {
  using underlying = uint8_t;
  uint8_t val_;
  explicit constexpr quint8(uint8_t val) : val_(val) {}
};
struct qint32 {
  using underlying = int32_t;
  int32_t val_;
  explicit constexpr qint32(int32_t val) : val_(val) {}
};

// Of c10/core/ScalarType.h those that are quantized, with its numbers.
enum class ScalarType : int8_t { qint8 = 12, quint8 = 13, qint32 = 14 };

inline constexpr ScalarType kQInt8 = ScalarType::qint8;
inline constexpr ScalarType kQUInt8 = ScalarType::quint8;
inline constexpr ScalarType kQInt32 = ScalarType::qint32;

const char* toString(ScalarType type);

// The type that holds the codes, and the other way round: false where no type has that storage.
DType storage_of(ScalarType type);
bool find_scalar_type(DType storage, ScalarType& type);

// One of the three, by any name of its own or its storage's.
Status check_scalar_type(const char* op, const DTypeRequest& request, ScalarType& type);

// Zero points, and codes given as numbers, must be in the type's range.
Status check_code(const char* op, const char* argument, int64_t code, ScalarType type);
Status check_zero_points(const char* op, const std::vector<int64_t>& zero_points, ScalarType type);

}  // namespace npu_quant
