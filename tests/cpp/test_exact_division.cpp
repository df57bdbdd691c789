// The proofs that kernels/quotient.h relies on. The first: a product with the rounded reciprocal
// and one correction is fl(x / scale), to the bit.
//
// Before its last rounding the corrected quotient is within 2^-45 (relative) of x / scale. It can
// only be rounded differently where x / scale is that close to the middle of two floats: x and
// scale with significands X and S such that 2^e X - M S = d, M odd and |d| small. Solved modulo S
// for every S there is, that is every pair that could come out wrong.
//
// The second: where one product decides which byte a value becomes, it is the formula's. That takes
// no more than what is rounded to be less than a bound (kernels/quotient.h), which every x of some
// scales and zero points tries, and values on both sides of the meeting of any two codes for many.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "core/parallel.h"
#include "kernels/elementwise_args.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

constexpr int64_t kOne = 1 << 23;  // significands are those of [1, 2)
constexpr int64_t kMostTile = 64;  // elements that any target does at once
constexpr int kMostDistance = 8;   // that of 2^-45 is less

int64_t inverse_of_power_of_2(int power, int64_t odd_modulus) {
  int64_t value = 1;
  for (int i = 0; i < power; ++i) value = (value % 2 != 0 ? value + odd_modulus : value) / 2;
  return value;
}

// The X of [1, 2) whose quotient by S is nearly a middle: below 1 (power 25) or from 1 on (24).
void append_hard(int64_t significand, int power, std::vector<float>& x) {
  const int zeros = __builtin_ctzll(static_cast<uint64_t>(significand));
  const int64_t odd = significand >> zeros;
  if (odd == 1) return;  // a power of two divides exactly
  const int64_t inverse = inverse_of_power_of_2(power - zeros, odd);
  for (int64_t d = -kMostDistance; d <= kMostDistance; ++d) {
    if (d == 0 || d % (int64_t{1} << zeros) != 0) continue;
    const int64_t first = ((d >> zeros) * inverse % odd + odd) % odd;
    for (int64_t candidate = first; candidate < 2 * kOne; candidate += odd) {
      const bool below_one = candidate < significand;
      if (candidate < kOne || below_one != (power == 25)) continue;
      const int64_t multiple = ((candidate << power) - d) / significand;
      if (multiple % 2 != 0) x.push_back(std::ldexp(static_cast<float>(candidate), 1));
    }
  }
}

struct Line {
  float scale, zero_point;
};

template <class Code>
constexpr Format kFormatOf = std::is_signed_v<Code> ? Format::int8 : Format::uint8;
template <>
constexpr Format kFormatOf<int32_t> = Format::int32;

template <class Code>
void divide(Target target, const std::vector<float>& x, const Line& line, Code* codes) {
  const auto n = static_cast<int64_t>(x.size());
  float factor = 0, offset = 0;
  const auto at = [](const void* data, int64_t stride) {
    return Strided{const_cast<char*>(static_cast<const char*>(data)), 0, stride};
  };
  const auto address = [](const float& value) {
    return const_cast<char*>(reinterpret_cast<const char*>(&value));
  };
  run_on<StepsKernel>(target, {.codes = kFormatOf<Code>,
                               .count = 1,
                               .scale = address(line.scale),
                               .zero_point = address(line.zero_point),
                               .factor = address(factor),
                               .offset = address(offset)});
  run_on<QuantizeKernel>(
      target, {.work = {.rows = 1,
                        .n = n,
                        .x = at(x.data(), 4),
                        .y = at(codes, sizeof(Code)),
                        .parameters = {at(&line.scale, 0), at(&line.zero_point, 0), at(&factor, 0),
                                       at(&offset, 0)}},
               .x_dtype = DType::float32,
               .codes = kFormatOf<Code>});
}

std::vector<float> hard_values(int64_t significand) {
  std::vector<float> x;
  for (const int power : {24, 25}) append_hard(significand, power, x);
  return x;
}

int64_t count_differences(int64_t significand) {
  const std::vector<float> x = hard_values(significand);
  const float scale = std::ldexp(static_cast<float>(significand), -23);
  std::vector<int32_t> codes(x.size());
  int64_t differences = 0;
  for (const Target target : runnable_targets()) {
    if (target == Target::baseline) continue;  // divides
    // x / scale is 2^23 or more, an integer, which int32 codes hold whole.
    divide(target, x, {scale, 0}, codes.data());
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
      if (is_tried(i, kOne)) found += count_differences(kOne + i);
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

// A tile is decided as a whole: what is near a meeting of codes is to be alone in it, or nothing is
// proven. So each value comes `copies` times.
template <class Code>
int64_t count_other_bytes(const std::vector<float>& x, size_t copies, const Line& line) {
  std::vector<int16_t> expected(x.size());
  divide_add_and_round(x.data(), static_cast<int64_t>(x.size()), line.scale, line.zero_point,
                       std::numeric_limits<Code>::min(), expected.data());
  std::vector<float> copied;
  copied.reserve(x.size() * copies);
  for (const float v : x) copied.insert(copied.end(), copies, v);
  std::vector<Code> codes(copied.size());
  int64_t differences = 0;
  for (const Target target : runnable_targets()) {
    divide(target, copied, line, codes.data());
    for (size_t i = 0; i < x.size(); ++i) differences += codes[i * copies] != expected[i];
  }
  return differences;
}

// From where a quotient is a hundredth of a code to where all are out of range. The values of a
// tile are 256 floats apart.
template <class Code>
void expect_bytes_of_every_x(const Line& line) {
  constexpr int64_t kBlock = 1 << 14, kApart = kBlock / kMostTile;
  const int64_t first = bits_of(std::ldexp(line.scale, -7)), last = bits_of(line.scale * 512);
  std::atomic<int64_t> differences{0};
  parallel_for((last - first) / kBlock, int64_t{1} << 40, [&](int64_t begin, int64_t end) {
    std::vector<float> x(kBlock);
    for (int64_t block = begin; block < end; ++block) {
      if (!is_tried(block, (last - first) / kBlock)) continue;
      for (int64_t i = 0; i < kBlock; ++i) {
        const int64_t number = first + block * kBlock + i % kMostTile * kApart + i / kMostTile;
        x[static_cast<size_t>(i)] = float_from_bits(static_cast<uint32_t>(number));
      }
      differences += count_other_bytes<Code>(x, 1, line);
      for (float& v : x) v = -v;
      differences += count_other_bytes<Code>(x, 1, line);
    }
  });
  EXPECT_EQ(differences, 0) << line.scale << ", " << line.zero_point;
}

TEST(ExactDivision, BytesOfEveryValue) {
  expect_bytes_of_every_x<int8_t>({0.03f, 3});
  expect_bytes_of_every_x<int8_t>({1.7f, -127.875f});
  expect_bytes_of_every_x<uint8_t>({0x1.fffffep-7f, 131});
}

// Quotients up to 2 steps of 2^-16 to either side of where two codes meet.
std::vector<float> values_next_to_meetings(const Line& line, float least) {
  constexpr double kStep = 0x1p-16;
  std::vector<float> x;
  for (int code = 0; code < 255; ++code) {
    const double meeting =
        static_cast<double>(least) + code + 0.5 - static_cast<double>(line.zero_point);
    for (int i = -8; i <= 8; ++i)
      x.push_back(static_cast<float>((meeting + i * kStep / 4) * static_cast<double>(line.scale)));
    const uint32_t bits = bits_of(static_cast<float>(meeting * static_cast<double>(line.scale)));
    for (uint32_t i = 0; i < 8; ++i) x.push_back(float_from_bits(bits - 4 + i));
  }
  return x;
}

template <class Code>
void expect_bytes_next_to_meetings() {
  constexpr float kLeast = std::numeric_limits<Code>::min();
  std::atomic<int64_t> differences{0};
  parallel_for(500 / thinning(), int64_t{1} << 40, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::mt19937 random(static_cast<uint32_t>(i));
      const float significand = std::ldexp(static_cast<float>(kOne + random() % kOne), -23);
      Line line{std::ldexp(significand, static_cast<int>(random() % 200) - 100), kLeast};
      line.zero_point += static_cast<float>(random() % 256);
      if (i % 4 == 1) line.zero_point += static_cast<float>(random() % 256) / 256;
      if (i % 4 == 2) line.zero_point *= static_cast<float>(random() % 999);
      if (i % 4 == 3) line.scale = -line.scale;
      differences +=
          count_other_bytes<Code>(values_next_to_meetings(line, kLeast), kMostTile, line);
    }
  });
  EXPECT_EQ(differences, 0);
}

TEST(ExactDivision, BytesNextToTheMeetingsOfCodes) {
  expect_bytes_next_to_meetings<int8_t>();
  expect_bytes_next_to_meetings<uint8_t>();
}

TEST(ExactDivision, WithoutDivisionThoseComeOutWrong) {
  const Line line{0.03f, 3};
  const std::vector<float> x = values_next_to_meetings(line, -128);
  int64_t wrong = 0;
  for (const float v : x) {
    const float product = std::fma(v, 1 / line.scale, line.zero_point);
    wrong += std::rint(product) != std::rint(v / line.scale + line.zero_point);
  }
  EXPECT_GT(wrong, 100);
}

}  // namespace
}  // namespace npu_quant::testing
