// The two conversions of the runtime, which know neither infinity nor NaN. No operator uses them.
#include <cstdint>
#include <cstring>

#include "acl/acl_base.h"

namespace {

constexpr uint32_t kLargest = 0x7bff;  // 65504
constexpr int kDroppedBits = 13;       // of the 23 of a float's significand

// To nearest, ties to even.
uint32_t shifted(uint32_t bits, int by) {
  const uint32_t half = 1U << (by - 1), rest = bits & (2 * half - 1), kept = bits >> by;
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

uint32_t magnitude_of(uint32_t bits) {
  constexpr int kRebias = 127 - 15;
  const auto exponent = static_cast<int>(bits >> 23);
  if (exponent > kRebias) {
    const uint64_t rounded = shifted(bits - (static_cast<uint32_t>(kRebias) << 23), kDroppedBits);
    return rounded > kLargest ? kLargest : static_cast<uint32_t>(rounded);
  }
  const int by = kDroppedBits + 1 + kRebias - exponent;  // subnormal
  return by > 24 ? 0 : shifted((bits & 0x7fffff) | 0x800000, by);
}

}  // namespace

aclFloat16 aclFloatToFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000;
  return static_cast<aclFloat16>(sign | magnitude_of(bits & 0x7fffffff));
}

float aclFloat16ToFloat(aclFloat16 value) {
  const int exponent = value >> 10 & 31, fraction = value & 1023;
  const int significand = exponent > 0 ? fraction + 1024 : fraction;
  float magnitude = static_cast<float>(significand);
  for (int e = exponent > 0 ? exponent : 1; e < 25; ++e) magnitude /= 2;
  for (int e = 25; e < exponent; ++e) magnitude *= 2;
  return (value & 0x8000) != 0 ? -magnitude : magnitude;
}
