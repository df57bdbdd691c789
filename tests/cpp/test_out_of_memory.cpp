// Operators that work in chunks, where memory runs out: they fail before anything is written.
#include <random>

#include "core/parallel.h"
#include "failing_new.h"
#include "op_checks.h"
#include "ops/grouped_matmul_swiglu_quant.h"

namespace npu_quant::testing {
namespace {

// Rows of so many columns are computed 384 at a time. Experts are dealt so that chunks have one
// product, many, and again one, of other sizes.
constexpr int64_t kWide = 5632, kFew = 8, kTokens = 900, kTokensByExpert[] = {500, 1, 1, 2, 1, 300};
constexpr int64_t kExpertCount = std::size(kTokensByExpert);

// An array of random bytes, which are small numbers in every dtype: of one in `spread` elements.
class RandomArray {
 public:
  RandomArray(DType dtype, const std::vector<int64_t>& dims, int spread = 1)
      : bytes_(static_cast<size_t>(shape_of(dims).size() * size_of(dtype) * spread)) {
    static std::mt19937 source(3);
    for (char& byte : bytes_) byte = static_cast<char>(source() % 64);
    view_ = view(bytes_.data(), dtype, shape_of(dims));
    for (int axis = 0; axis < view_.rank; ++axis) view_.strides[axis] *= spread;
  }
  operator TensorView() const { return view_; }

 private:
  std::vector<char> bytes_;
  TensorView view_;
};

class ListOfGroups {
 public:
  ListOfGroups() {
    for (int64_t end = 0; const int64_t rows : kTokensByExpert) ends_.push_back(end += rows);
  }
  operator TensorView() { return view(ends_.data(), DType::int64, {1, {kExpertCount}}); }

 private:
  std::vector<int64_t> ends_;
};

void expect_all_or_nothing_of(Op& op) {
  const Status status = op.check();
  ASSERT_TRUE(status.ok()) << message_of(status);
  Buffers results;
  std::vector<TensorView> out;
  for (const OutputSpec& spec : op.outputs) {
    results.emplace_back(static_cast<size_t>(spec.shape.size() * size_of(spec.dtype)), 77);
    out.push_back(view(results.back().data(), spec.dtype, spec.shape));
  }
  EXPECT_GT(expect_all_or_nothing(results, [&] { return op.run(out.data()).ok(); }), 0);
}

class OutOfMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    set_num_threads(3);
    set_shares_small_work(true);
  }
  void TearDown() override { set_shares_small_work(false); }
};

TEST_F(OutOfMemory, OfProductsByExperts) {
  ListOfGroups list;
  for (const bool is_int4 : {false, true}) {
    const RandomArray x(DType::int8, {kTokens, kFew}),
        codes(DType::int8, {kExpertCount, kFew, kWide}),
        words(DType::int32, {kExpertCount, kFew, kWide / 8}),
        scale(DType::float32, {kExpertCount, kWide}, 2), of_x(DType::float32, {kTokens}, 2),
        bias(DType::float32, {kExpertCount, kWide}, 2);
    GroupedMatmulSwigluQuant op;
    op.x = x, op.weight_scale = scale, op.x_scale = of_x, op.group_list = list;
    op.weight = is_int4 ? words : codes;
    if (is_int4) op.bias = bias;
    expect_all_or_nothing_of(op);
  }
}

TEST_F(OutOfMemory, OfProductsByExpertsInTheSecondVersion) {
  ListOfGroups list;
  const RandomArray x(DType::int32, {kTokens, kFew / 8}),
      words(DType::int32, {kExpertCount, kFew, kWide / 8}),
      scale(DType::float32, {kExpertCount, kWide}), of_x(DType::float32, {kTokens}),
      smooth(DType::float32, {kExpertCount, kWide / 2}, 2);
  GroupedMatmulSwigluQuantV2 op;
  op.x = x, op.weight = words, op.weight_scale = scale, op.x_scale = of_x;
  op.group_list = list, op.smooth_scale = smooth;
  expect_all_or_nothing_of(op);

  const RandomArray floats(DType::float8_e4m3fn, {kTokens, kFew}),
      weights(DType::float8_e4m3fn, {kExpertCount, kFew, kWide}),
      powers(DType::uint8, {kExpertCount, 1, kWide, 2}), of_rows(DType::uint8, {kTokens, 1, 2});
  GroupedMatmulSwigluQuantV2 mx;
  mx.x = floats, mx.weight = weights, mx.weight_scale = powers, mx.x_scale = of_rows;
  mx.group_list = list, mx.dequant_mode = mx.quant_mode = 2;
  mx.quant_dtype = requested(Format::float8_e4m3fn);
  expect_all_or_nothing_of(mx);
}

}  // namespace
}  // namespace npu_quant::testing
