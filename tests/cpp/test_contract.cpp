#include "ops/contract/outputs.h"

#include <gtest/gtest.h>

#include "views.h"

namespace npu_quant::testing {
namespace {

// What check_outputs says of one float32 output with these dims and strides (in elements) over 64
// values.
bool is_allowed(std::initializer_list<int64_t> dims, std::initializer_list<int64_t> strides) {
  static std::vector<float> memory(64);
  TensorView out = view(memory, dims);
  out.data += 4 * 32;
  for (int i = 0; i < out.rank; ++i) out.strides[i] = 4 * strides.begin()[i];
  return check_outputs("op", {}, OutputSpecs::of(OutputSpec{"y", DType::float32, out.shape}), &out)
      .ok();
}

TEST(Contract, OutputsMayHaveAnyStridesThatDoNotOverlap) {
  EXPECT_TRUE(is_allowed({2, 3}, {3, 1}));
  EXPECT_TRUE(is_allowed({2, 3}, {1, 2}));
  EXPECT_TRUE(is_allowed({2, 3}, {-3, -1}));
  EXPECT_TRUE(is_allowed({2, 3}, {3, 2}));  // 0 2 4 and 3 5 7: interleaved
  EXPECT_TRUE(is_allowed({1, 3}, {0, 1}));
  EXPECT_TRUE(is_allowed({0, 3}, {0, 0}));
  EXPECT_TRUE(is_allowed({2, 3}, {101, 100}));  // few in a wide range: 0 100 200 and 101 201 301
  EXPECT_TRUE(is_allowed({2, 3}, {(int64_t{1} << 35) + 1, int64_t{1} << 35}));
}

TEST(Contract, OutputsMustNotOverlapThemselves) {
  EXPECT_FALSE(is_allowed({2, 3}, {0, 1}));
  EXPECT_FALSE(is_allowed({2, 3}, {2, 1}));
  EXPECT_FALSE(is_allowed({2, 3}, {4, 2}));  // 0 2 4 and 4 6 8
  EXPECT_FALSE(is_allowed({2, 3}, {-1, 1}));
  EXPECT_FALSE(is_allowed({2, 3}, {200, 100}));
  EXPECT_FALSE(is_allowed({2, 3}, {int64_t{1} << 36, int64_t{1} << 35}));
}

TEST(Contract, ShorteningKeepsWholeCharacters) {
  const std::string text = std::string(59, 'a') + "\u00e9\u00e9";  // two bytes each
  EXPECT_EQ(shortened(text), std::string(59, 'a') + "...");
  EXPECT_EQ(shortened(std::string(60, 'a')), std::string(60, 'a'));
}

TEST(Contract, MessagesStayShort) {
  const std::string long_text(1000, 'x');
  EXPECT_LT(message_of(not_an_array("op", Argument("x"), long_text, "Convert it.")).size(), 400U);
  EXPECT_EQ(npu_quant::quoted(long_text).size(), 60U + 5U);  // quotes and dots
}

// What a face marks as its own word, and what it leaves alone.
TEST(Contract, AFaceWritesAFaultInItsOwnWords) {
  const TensorView x = contiguous_view(nullptr, DType::float16, 3);
  const Status status = fault(
      "op", Fault::dtype, {Argument("x")}, {"has dtype ", DTypeOf(x), " but no x"},
      {"expected ", Nothing(), ", ", DType::int8, " or the shape of ", Output("y"), ", ", x.shape},
      "Convert it.");
  EXPECT_EQ(message_of(status),
            "op: x has dtype float16 but no x, expected None, int8 or the shape of out[y], (3,).");
  EXPECT_EQ(sentence_of(status, [](const Part& part) { return "<" + part.text + ">"; }),
            "<x> has dtype <float16> but no x, expected <>, <int8> or the shape of <y>, (3,).");
  EXPECT_EQ(message_of(fault("op", Fault::shape, {Output("")}, "is late")), "op: out is late.");
  EXPECT_EQ(message_of(out_of_memory("op")), "op: out of memory.");
}

}  // namespace
}  // namespace npu_quant::testing
