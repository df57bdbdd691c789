// The proofs that kernels/dynamic/quotient.h relies on. The first: a product with the rounded
// reciprocal and one correction is fl(x / scale), to the bit.
//
// Before its last rounding the corrected quotient is within 2^-45 (relative) of x / scale. It can
// only be rounded differently where x / scale is that close to the middle of two floats: x and
// scale with significands X and S such that 2^e X - M S = d, M odd and |d| small. Solved modulo S
// for every S there is, that is every pair that could come out wrong.
//
// The second: where one product decides which byte a value becomes, it is the formula's. That takes
// no more than what is rounded to be less than a bound (kernels/dynamic/quotient.h), which every x
// of some scales and zero points tries, and values on both sides of the meeting of any two codes
// for many.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "core/parallel.h"
#include "kernels/elementwise/args.h"
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

// The X of [1, 2) whose quotient by S is nearly a middle: below 1 (power 25) or from 1 on (24). Of
// X, S and d the powers of two that S has are left out: d has them, and M is odd where what is left
// of d is.
void append_hard(int64_t significand, int power, std::vector<float>& x) {
  const int zeros = __builtin_ctzll(static_cast<uint64_t>(significand));
  const int64_t odd = significand >> zeros;
  if (odd == 1) return;  // a power of two divides exactly
  const int64_t inverse = inverse_of_power_of_2(power - zeros, odd);
  for (int64_t d = 1; d <= kMostDistance >> zeros; d += 2) {
    const int64_t solution = d * inverse % odd;
    for (const int64_t first : {solution, odd - solution})  // for d and for -d
      for (int64_t candidate = first; candidate < 2 * kOne; candidate += odd)
        if (candidate >= kOne && (candidate < significand) == (power == 25))
          x.push_back(static_cast<float>(2 * candidate));
  }
}

struct Line {
  float scale, zero_point;
};

template <class Code>
constexpr Format kFormatOf = std::is_signed_v<Code> ? Format::int8 : Format::uint8;
template <>
constexpr Format kFormatOf<int32_t> = Format::int32;

// By one scale and zero point, or by those of each x.
template <class Code>
void divide(Target target, const std::vector<float>& x, const std::vector<float>& scale,
            const std::vector<float>& zero_point, Code* codes) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<float> factor(scale.size()), offset(scale.size());
  const auto address = [](const float* values) {
    return const_cast<char*>(reinterpret_cast<const char*>(values));
  };
  run_on<StepsKernel>(target, {.codes = kFormatOf<Code>,
                               .count = static_cast<int64_t>(scale.size()),
                               .scale = address(scale.data()),
                               .zero_point = address(zero_point.data()),
                               .factor = address(factor.data()),
                               .offset = address(offset.data())});
  const auto parameter = [&](const std::vector<float>& values) {
    return Strided{address(values.data()), 0, values.size() == 1 ? 0 : 4};
  };
  run_on<QuantizeKernel>(target, {.work = {.rows = 1,
                                           .n = n,
                                           .x = {address(x.data()), 0, 4},
                                           .y = {reinterpret_cast<char*>(codes), 0, sizeof(Code)},
                                           .parameters = {parameter(scale), parameter(zero_point),
                                                          parameter(factor), parameter(offset)}},
                                  .x_dtype = DType::float32,
                                  .codes = kFormatOf<Code>});
}

// Significands, and the values that are hard for each.
struct HardPairs {
  std::vector<float> x, scale;

  void append(int64_t significand) {
    for (const int power : {24, 25}) append_hard(significand, power, x);
    scale.resize(x.size(), std::ldexp(static_cast<float>(significand), -23));
  }
};

int64_t count_differences(const HardPairs& pairs) {
  const std::vector<float>&x = pairs.x, &scale = pairs.scale;
  const std::vector<float> zero_point(x.size(), 0.0f);
  std::vector<int32_t> codes(x.size());
  int64_t differences = 0;
  for (const Target target : runnable_targets()) {
    if (divides(target)) continue;
    // x / scale is 2^23 or more, an integer, which int32 codes hold whole.
    divide(target, x, scale, zero_point, codes.data());
    for (size_t i = 0; i < x.size(); ++i)
      differences += static_cast<float>(codes[i]) != x[i] / scale[i];
  }
  return differences;
}

TEST(ExactDivision, EveryPairOfSignificandsWhoseQuotientIsNextToAMiddle) {
  constexpr int64_t kTogether = 1 << 10;
  std::atomic<int64_t> differences{0};
  parallel_for(kOne / kTogether, int64_t{1} << 40, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      HardPairs pairs;
      for (int64_t i = block * kTogether; i < (block + 1) * kTogether; ++i)
        if (is_tried(i, kOne)) pairs.append(kOne + i);
      differences += count_differences(pairs);
    }
  });
  EXPECT_EQ(differences, 0);
}

TEST(ExactDivision, WithoutTheCorrectionTheyComeOutWrong) {
  HardPairs pairs;
  for (int64_t i = 1; i < kOne; i += 99991) pairs.append(kOne + i);
  int64_t wrong = 0;
  for (size_t i = 0; i < pairs.x.size(); ++i)
    wrong += pairs.x[i] * (1 / pairs.scale[i]) != pairs.x[i] / pairs.scale[i];
  EXPECT_GT(pairs.x.size(), 300);
  EXPECT_GT(wrong, pairs.x.size() / 10);
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
    divide(target, copied, {line.scale}, {line.zero_point}, codes.data());
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
