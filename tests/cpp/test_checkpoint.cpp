// What the codes of weights lose, as a C++ caller sees it: the contract, and a few numbers.
#include "ops/checkpoint.h"

#include <gtest/gtest.h>

#include <vector>

#include "views.h"

namespace npu_quant::testing {
namespace {

// Two rows: 3, 4 by the codes 2, 3 and the scale 1; 0, 0 by 0, 1 and 0.5.
struct WeightErrorCall {
  std::vector<float> w = {3, 4, 0, 0}, scale = {1, 0.5F};
  std::vector<int8_t> codes = {2, 3, 0, 1};
  std::vector<double> sums;
  WeightError op;

  explicit WeightErrorCall(size_t count) : sums(count) {
    op.w = view(w, {2, 2});
    op.codes = view(codes, {2, 2});
    op.scale = view(scale, {2, 1});
    op.sums = contiguous_view(sums.data(), DType::float64, static_cast<int64_t>(count));
    op.sums.writable = true;
  }
  WeightErrorCall(const WeightErrorCall&) = delete;
  std::string message() const { return message_of(op.check()); }
};

TEST(Checkpoint, SumsByHand) {
  on_every_target([] {
    for (const size_t count : {4U, 5U}) {
      WeightErrorCall call(count);
      ASSERT_TRUE(call.op.check().ok());
      ASSERT_TRUE(call.op.run().ok());
      std::vector<double> expected = {25, 2.25, 1, 1, 13.25};
      expected.resize(count);
      EXPECT_EQ(call.sums, expected);
    }
  });
}

TEST(Checkpoint, AddsToWhatIsThere) {
  WeightErrorCall call(4);
  call.sums = {1, 2, 3, 4};
  ASSERT_TRUE(call.op.run().ok());
  EXPECT_EQ(call.sums, (std::vector<double>{26, 4.25, 3, 5}));
}

TEST(Checkpoint, Contract) {
  WeightErrorCall call(4);
  call.op.codes.strides[0] = 4;
  EXPECT_EQ(call.message(), "weight_error: codes is not contiguous.");
  WeightErrorCall read_only(4);
  read_only.op.sums.writable = false;
  EXPECT_EQ(read_only.message(), "weight_error: sums is read-only.");
}

}  // namespace
}  // namespace npu_quant::testing
