// The formula of docs/numerics.md 2 in plain scalar code, a witness independent of the kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace npu_quant::testing {

inline float float_from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float widen_bfloat16(uint16_t bits) { return float_from_bits(uint32_t{bits} << 16); }

inline float widen_float16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

inline float rounded_within(float q, float least, float greatest) {
  q = __builtin_rintf(q);
  q = q != q ? 0.0f : q;
  q = q < least ? least : q;
  return q > greatest ? greatest : q;
}

// The compiler may vectorise what follows, each lane is the same IEEE division.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NPU_QUANT_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define NPU_QUANT_CLONES
#endif

// y = sat8(fl(v / scale)), for codes that are in range.
NPU_QUANT_CLONES inline void divide_and_round(const float* v, int64_t n, float scale, int8_t* y) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<int8_t>(rounded_within(v[i] / scale, -128, 127));
}

// y = sat(fl(fl(v / scale) + zero_point)), of codes from `least` on.
NPU_QUANT_CLONES inline void divide_add_and_round(const float* v, int64_t n, float scale,
                                                  float zero_point, float least, int16_t* y) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<int16_t>(rounded_within(v[i] / scale + zero_point, least, least + 255));
}

// Asked once: where the machine is a virtual one, the processor's answer takes microseconds.
inline const std::vector<Target>& runnable_targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> targets;
    for (const Target target : kAllTargets)
      if (is_runnable(target)) targets.push_back(target);
    return targets;
  }();
  return all;
}

// Whether a target divides, instead of multiplying and correcting that by FMA.
inline bool divides(Target target) { return std::strcmp(name_of(target), "baseline") == 0; }

// Calls f where each target in turn is the active one.
template <class F>
void on_every_target(F f) {
  const Target before = active_target();
  for (const Target target : runnable_targets()) {
    set_active_target(target);
    f();
  }
  set_active_target(before);
}

// The proofs try everything where NPU_QUANT_EXHAUSTIVE is set, as `make test-exhaustive` does
// (tests/exhaustive.py), else one in so many: a prime, which no width, exponent or step shares.
inline int64_t thinning() {
  static const char* const set = std::getenv("NPU_QUANT_EXHAUSTIVE");
  return set == nullptr || *set == '\0' ? 97 : 1;
}

// The same where little is to be found, and much to be tried.
inline int64_t thinning_of_others() {
  static const char* const set = std::getenv("NPU_QUANT_EXHAUSTIVE");
  return set != nullptr && std::strcmp(set, "all") == 0 ? 1 : 97;
}

// Whether a proof tries number i, from 0 up. A sample has the first and the last number below each
// multiple of `edge`, and the powers of two and the numbers before them.
inline bool is_tried(int64_t i, int64_t edge) {
  const int64_t next = i + 1;
  return i % thinning() == 0 || i % edge == 0 || next % edge == 0 || (i & (i - 1)) == 0 ||
         (next & i) == 0;
}

}  // namespace npu_quant::testing
