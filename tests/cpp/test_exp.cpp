// simd/exp.h: the exponential of every float on every target, against glibc's in float64. Over all
// floats the exponential is nowhere nearer than 1.27 ulp of float64 to a middle between two floats,
// and glibc's is less than 1 ulp off: so it rounds to the right one, and a vector that gives the
// same bits everywhere is correctly rounded. 2^32 floats take 25 s of two cores.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "exp_kernel.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

constexpr int64_t kBlock = 1 << 16;

// Whether the exponentials of floats whose patterns begin with these bits are neither 1 nor beyond
// the range: from 2^-26 to 108.
bool matters(uint32_t upper) {
  const uint32_t magnitude = upper & 0x7fff;
  return magnitude >= 0x3280 && magnitude <= 0x42d8;
}

// How many of the floats whose patterns begin with `upper` differ on any target.
int64_t differing(uint32_t upper, int64_t step, std::vector<float>& x, std::vector<float>& y) {
  int64_t count = 0, wrong = 0;
  std::vector<float> expected(kBlock);
  for (int64_t low = upper % step; low < kBlock; low += step) {
    x[count] = float_from_bits(upper << 16 | static_cast<uint32_t>(low));
    expected[count] = static_cast<float>(std::exp(static_cast<double>(x[count])));
    ++count;
  }
  for (const Target target : runnable_targets()) {
    run_on<ExpKernel>(target, {x.data(), y.data(), (count + 15) / 16 * 16});
    for (int64_t i = 0; i < count; ++i)
      wrong += std::isnan(expected[i]) ? !std::isnan(y[i]) : bits_of(y[i]) != bits_of(expected[i]);
  }
  return wrong;
}

TEST(Exp, EveryFloatIsCorrectlyRounded) {
  std::atomic<uint32_t> next{0};
  std::atomic<int64_t> wrong{0};
  const auto work = [&] {
    std::vector<float> x(kBlock), y(kBlock);
    for (uint32_t upper; (upper = next++) < kBlock;)
      wrong += differing(upper, matters(upper) ? thinning() : thinning_of_others(), x, y);
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Exp, BitsThatAreHardToRound) {
  const uint32_t hard[][2] = {{0x377EFF81, 0x3F800080}, {0x38E69CC1, 0x3F80039A},
                              {0x39C6BE5B, 0x3F800C6D}, {0xB3000000, 0x3F800000},
                              {0xBAE0E25C, 0x3F7F8FA7}, {0xBBF0EDF1, 0x3F7E1FE9},
                              {0xC16912CD, 0x34FD331B}};
  const struct {
    float x;
    uint32_t bits;
  } plain[] = {{1, 0x402DF854},        {-1, 0x3EBC5AB2}, {88.72283f, 0x7F7FFF84},
               {-103.97f, 0x00000001}, {-104, 0},        {89, 0x7F800000},
               {INFINITY, 0x7F800000}, {-INFINITY, 0},   {0, 0x3F800000}};
  for (const Target target : runnable_targets()) {
    const auto exp_of = [&](float x) {
      std::vector<float> same(16, x), y(16);
      run_on<ExpKernel>(target, {same.data(), y.data(), 16});
      return y[15];
    };
    for (const auto& [x, bits] : hard) EXPECT_EQ(bits_of(exp_of(float_from_bits(x))), bits);
    for (const auto& [x, bits] : plain) EXPECT_EQ(bits_of(exp_of(x)), bits) << x;
    EXPECT_TRUE(std::isnan(exp_of(NAN)));
  }
}

}  // namespace
}  // namespace npu_quant::testing
