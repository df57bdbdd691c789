// Numbers as integers that order like them, a step from each to the next: one struct per type.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

using U64 = Vec<uint64_t>;
using I64 = Vec<int64_t>;

template <int bytes>
struct IntegersOf;
template <>
struct IntegersOf<2> {
  using Unsigned = uint16_t;
  using Signed = int16_t;
};
template <>
struct IntegersOf<4> {
  using Unsigned = uint32_t;
  using Signed = int32_t;
};
template <>
struct IntegersOf<8> {
  using Unsigned = uint64_t;
  using Signed = int64_t;
};

constexpr double power_of_two(int exponent) {
  double power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  return power;
}

// The nearest number to any 64-bit integer: both halves are exact in the low bits of a power of
// two, and one sum rounds.
NPU_QUANT_INLINE F64 to_double(U64 n) {
  const F64 high = bit_cast<F64>((n >> 32) | 0x4530000000000000) - 0x1p84;
  const F64 low = bit_cast<F64>((n & 0xffffffff) | 0x4330000000000000) - 0x1p52;
  return high + low;
}
// The same for signed integers of less than 51 bits.
NPU_QUANT_INLINE F64 short_to_double(U64 n) {
  return bit_cast<F64>(n + 0x4338000000000000) - 0x1.8p52;
}
NPU_QUANT_INLINE F64 with_sign(F64 magnitude, U64 negative) {
  return bit_cast<F64>(bit_cast<U64>(magnitude) | negative << 63);
}
// |n| of two's complement; `negative` is its sign bit.
template <class V>
NPU_QUANT_INLINE V magnitude_of(V n, V negative) {
  return (n ^ -negative) + negative;
}

// Functions named key() take bit patterns in the low bits of 64, one or a vector of them; those
// named order() whole vectors of elements, and what they return is good for comparisons only.
template <int bytes, int fraction, int bias>
struct FloatKeys {
  using Bits = typename IntegersOf<bytes>::Unsigned;
  using Order = Vec<typename IntegersOf<bytes>::Signed>;
  static constexpr bool kIsFloat = true, kIsSigned = true;
  static constexpr int kTopBit = bytes * 8 - 1;
  static constexpr uint64_t kMagnitude = (uint64_t{1} << kTopBit) - 1;
  static constexpr uint64_t kInfinity = kMagnitude >> fraction << fraction;
  static constexpr uint64_t kZero = 0;  // of both zeros

  template <class V>
  static NPU_QUANT_INLINE V key(V bits) {
    return magnitude_of<V>(bits & kMagnitude, bits >> kTopBit);
  }
  static NPU_QUANT_INLINE F64 value(U64 key) {
    const U64 negative = key >> 63;
    return with_sign(magnitude(magnitude_of(key, negative)), negative);
  }
  // |value| of finite bits without their sign: fields go where those of a double are, and a
  // multiplication fixes the exponent, which also normalises subnormals.
  static NPU_QUANT_INLINE F64 magnitude(U64 bits) {
    const F64 small = bit_cast<F64>((bits & kMagnitude) << (52 - fraction));
    if constexpr (bytes == 8) return small;
    constexpr double kScale = power_of_two(1023 - bias);
    return small * kScale;
  }
  static NPU_QUANT_INLINE F64 steps_to_double(U64 steps) {
    return bytes == 8 ? to_double(steps) : short_to_double(steps);
  }

  static NPU_QUANT_INLINE Order finite(Order bits) {
    return (bits & static_cast<Signed>(kMagnitude)) < static_cast<Signed>(kInfinity);
  }
  static NPU_QUANT_INLINE Order order(Order bits) { return in_order<Signed>(bits); }
  static NPU_QUANT_INLINE Order saturated(Order order) {
    constexpr auto kGreatest = static_cast<Signed>(kInfinity - 1);
    constexpr auto kLeast = static_cast<Signed>(-static_cast<Signed>(kInfinity));
    return (order == kGreatest) | (order == kLeast);
  }
  static NPU_QUANT_INLINE uint64_t key_of_order(int64_t order) {
    return static_cast<uint64_t>(order < 0 ? order + 1 : order);
  }

 private:
  using Signed = typename IntegersOf<bytes>::Signed;
};

template <int bytes, bool is_signed>
struct IntegerKeys {
  using Bits = typename IntegersOf<bytes>::Unsigned;
  using Order = Vec<typename IntegersOf<bytes>::Signed>;
  static constexpr bool kIsFloat = false, kIsSigned = is_signed;
  static constexpr uint64_t kTop = uint64_t{1} << (bytes * 8 - 1);
  static constexpr uint64_t kZero = bytes == 8 && !is_signed ? kTop : 0;

  template <class V>
  static NPU_QUANT_INLINE V key(V bits) {
    if constexpr (is_signed) return (bits ^ kTop) - kTop;
    return bits ^ kZero;
  }
  static NPU_QUANT_INLINE F64 value(U64 key) {
    if constexpr (bytes < 8) return short_to_double(key);
    if constexpr (!is_signed) return to_double(key ^ kZero);
    const U64 negative = key >> 63;
    return with_sign(to_double(magnitude_of(key, negative)), negative);
  }
  static NPU_QUANT_INLINE F64 magnitude(U64 bits) { return value(key(bits)); }
  static NPU_QUANT_INLINE F64 steps_to_double(U64 steps) {
    return bytes == 8 ? to_double(steps) : short_to_double(steps);
  }

  static NPU_QUANT_INLINE Order finite(Order) { return Order{} == Order{}; }
  static NPU_QUANT_INLINE Order order(Order bits) {
    if constexpr (is_signed) return bits;
    return bits ^ kLeast;
  }
  // Of signed ones, also the negative of the greatest, where symmetric codes end.
  static NPU_QUANT_INLINE Order saturated(Order order) {
    return (order == kGreatest) | (order <= kSaturated);
  }
  static NPU_QUANT_INLINE uint64_t key_of_order(int64_t order) {
    const auto n = static_cast<uint64_t>(order);
    if constexpr (is_signed || bytes == 8) return n;
    return n + kTop;
  }

 private:
  using Signed = typename IntegersOf<bytes>::Signed;
  static constexpr Signed kGreatest = static_cast<Signed>(kTop - 1);
  static constexpr Signed kLeast = static_cast<Signed>(-kGreatest - 1);
  static constexpr Signed kSaturated = static_cast<Signed>(is_signed ? -kGreatest : kLeast);
};

// Calls f with the struct of a dtype that the op has checked.
template <class F>
NPU_QUANT_INLINE void visit_keys(DType dtype, F f) {
  switch (dtype) {
    case DType::float16: return f(FloatKeys<2, 10, 15>{});
    case DType::bfloat16: return f(FloatKeys<2, 7, 127>{});
    case DType::float32: return f(FloatKeys<4, 23, 127>{});
    case DType::float64: return f(FloatKeys<8, 52, 1023>{});
    case DType::int16: return f(IntegerKeys<2, true>{});
    case DType::uint16: return f(IntegerKeys<2, false>{});
    case DType::int32: return f(IntegerKeys<4, true>{});
    case DType::uint32: return f(IntegerKeys<4, false>{});
    case DType::int64: return f(IntegerKeys<8, true>{});
    default: return f(IntegerKeys<8, false>{});
  }
}

}  // namespace
}  // namespace npu_quant
