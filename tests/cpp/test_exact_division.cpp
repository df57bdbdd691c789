// The proof that kernels/quotient.h relies on: a product with the rounded reciprocal and one
// correction is fl(x / scale), to the bit.
//
// Before its last rounding the corrected quotient is within 2^-45 (relative) of x / scale. It can
// only be rounded differently where x / scale is that close to the middle of two floats: x and
// scale with significands X and S such that 2^e X - M S = d, M odd and |d| small. Solved modulo S
// for every S there is, that is every pair that could come out wrong.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "core/parallel.h"
#include "kernels/quantize.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

constexpr int64_t kOne = 1 << 23;  // significands are those of [1, 2)
constexpr int kMostDistance = 8;   // that of 2^-45 is less

int64_t times_inverse_of_power_of_2(int64_t value, int power, int64_t odd_modulus) {
  for (int i = 0; i < power; ++i) value = (value % 2 != 0 ? value + odd_modulus : value) / 2;
  return value;
}

// The X of [1, 2) whose quotient by S is a middle but for d: below 1 (power 25) or from 1 on (24).
void append_hard(int64_t significand, int power, int64_t d, std::vector<float>& x) {
  const int zeros = __builtin_ctzll(static_cast<uint64_t>(significand));
  if (d % (int64_t{1} << std::min(zeros, 30)) != 0) return;
  const int64_t odd = significand >> zeros, rest = d >> zeros;
  if (odd == 1) return;  // a power of two divides exactly
  const int64_t first = times_inverse_of_power_of_2((rest % odd + odd) % odd, power - zeros, odd);
  for (int64_t candidate = first; candidate < 2 * kOne; candidate += odd) {
    const bool below_one = candidate < significand;
    const int64_t multiple = ((candidate << power) - d) / significand;
    if (candidate >= kOne && below_one == (power == 25) && multiple % 2 != 0)
      x.push_back(std::ldexp(static_cast<float>(candidate), 1));
  }
}

// x / scale is made 2^23 or more, an integer, which int32 codes hold whole.
void divide(Target target, const std::vector<float>& x, float scale, std::vector<int32_t>& codes) {
  const float zero = 0, inverse = 1 / scale;
  const auto at = [](const void* data, int64_t stride) {
    return Strided{const_cast<char*>(static_cast<const char*>(data)), 0, stride};
  };
  run_on<QuantizeKernel>(target, {.x_dtype = DType::float32,
                                  .y_dtype = DType::int32,
                                  .rows = 1,
                                  .n = static_cast<int64_t>(x.size()),
                                  .x = at(x.data(), 4),
                                  .y = at(codes.data(), 4),
                                  .scale = at(&scale, 0),
                                  .inverse = at(&inverse, 0),
                                  .zero_point = at(&zero, 0),
                                  .least_scale = scale,
                                  .greatest_scale = scale,
                                  .divide = true,
                                  .twice = false,
                                  .rounding = Rounding::to_even,
                                  .stream = false});
}

std::vector<float> hard_values(int64_t significand) {
  std::vector<float> x;
  for (int64_t d = -kMostDistance; d <= kMostDistance; ++d)
    for (const int power : {24, 25})
      if (d != 0) append_hard(significand, power, d, x);
  return x;
}

int64_t count_differences(int64_t significand) {
  const std::vector<float> x = hard_values(significand);
  const float scale = std::ldexp(static_cast<float>(significand), -23);
  std::vector<int32_t> codes(x.size());
  int64_t differences = 0;
  for (const Target target : runnable_targets()) {
    if (target == Target::baseline) continue;  // divides
    divide(target, x, scale, codes);
    for (size_t i = 0; i < x.size(); ++i)
      differences += static_cast<float>(codes[i]) != x[i] / scale;
  }
  return differences;
}

TEST(ExactDivision, EveryPairOfSignificandsWhoseQuotientIsNextToAMiddle) {
  std::atomic<int64_t> differences{0};
  parallel_for(kOne, int64_t{1} << 40, [&](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (int64_t i = begin; i < end; ++i)
      if (i % kThinning == 0) found += count_differences(kOne + i);
    differences += found;
  });
  EXPECT_EQ(differences, 0);
}

TEST(ExactDivision, WithoutTheCorrectionTheyComeOutWrong) {
  int64_t pairs = 0, wrong = 0;
  for (int64_t i = 1; i < kOne; i += 99991) {
    const float scale = std::ldexp(static_cast<float>(kOne + i), -23);
    for (const float x : hard_values(kOne + i)) wrong += x * (1 / scale) != x / scale, ++pairs;
  }
  EXPECT_GT(pairs, 300);
  EXPECT_GT(wrong, pairs / 10);
}

}  // namespace
}  // namespace npu_quant::testing
