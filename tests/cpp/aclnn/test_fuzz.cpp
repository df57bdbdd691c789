// Arguments of every kind for every operator: those that random bytes make. `make fuzz` looks for
// bytes that do more.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "fuzz/operators.h"
#include "tensors.h"

namespace npu_quant::testing {
namespace {

using Fuzz = OnDevice;

TEST_F(Fuzz, RandomArguments) {
  constexpr int kCalls = 600;
  constexpr size_t kBytes = 400;
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(kBytes);
  int taken = 0;
  for (int i = 0; i < kCalls; ++i) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    taken += fuzzing::call_an_operator(bytes.data(), bytes.size());
  }
  EXPECT_GT(taken, kCalls / 5);
}

}  // namespace
}  // namespace npu_quant::testing
