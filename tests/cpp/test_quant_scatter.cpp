// npu_quant_scatter and npu_quant_scatter_ as a C++ caller sees them: the contract, without Python.
#include "ops/quant_scatter.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Into = QuantScatter::Into;

// A cache of 5, and two tokens for its second batch, of which the later one is left where both lie.
struct Scatter {
  explicit Scatter(Into into) : op(into) {
    op.self = view(cache.data(), DType::int8, shape_of({2, 3, 2}));
    op.self.writable = true;
    op.indices = view(indices.data(), DType::int64, shape_of({2, 2}));
    op.updates = view(updates.data(), DType::float16, shape_of({2, 2, 2}));
    op.quant_scales = view(scales, {2});
  }

  std::vector<int8_t> cache = std::vector<int8_t>(12, 5);
  std::vector<int64_t> indices = {1, 0, 1, 1};
  std::vector<uint16_t> updates = {0x3c00, 0xc200, 0x3c00, 0xc200, 0, 0, 0x3c00, 0x7e00};
  Values scales = {0.5f, 2};
  const Values expected = {5, 5, 5, 5, 5, 5, 2, -2, 0, 0, 2, 0};
  QuantScatter op;
};

TEST(QuantScatter, IntoACopy) {
  Scatter scatter(Into::copy);
  expect_results(scatter.op, {{{2, 3, 2}, scatter.expected}});
  EXPECT_EQ(scatter.cache, std::vector<int8_t>(12, 5));
}

TEST(QuantScatter, IntoSelf) {
  on_every_target([] {
    Scatter scatter(Into::self);
    ASSERT_TRUE(scatter.op.check().ok());
    EXPECT_TRUE(scatter.op.check_elements().ok());
    EXPECT_TRUE(scatter.op.check_outputs(nullptr).ok());
    EXPECT_TRUE(scatter.op.run(nullptr).ok());
    EXPECT_EQ(Values(scatter.cache.begin(), scatter.cache.end()), scatter.expected);
  });
}

// The last two axes take turns in memory.
TEST(QuantScatter, IntoATransposedSelf) {
  on_every_target([] {
    Scatter scatter(Into::self);
    scatter.op.self.strides[1] = 1, scatter.op.self.strides[2] = 3;
    ASSERT_TRUE(scatter.op.check().ok());
    EXPECT_TRUE(scatter.op.run(nullptr).ok());
    const std::vector<int8_t> turned = {5, 5, 5, 5, 5, 5, 2, 0, 2, -2, 0, 0};
    EXPECT_EQ(scatter.cache, turned);
  });
}

TEST(QuantScatter, FaultsHaveKinds) {
  Scatter good(Into::self);
  EXPECT_EQ(fault_of(good.op, [](auto& op) { op.axis = 2; }), Fault::attribute);
  EXPECT_EQ(fault_of(good.op, [](auto& op) { op.updates.shape.dims[1] = 4; }), Fault::shape);
  good.indices[3] = 2;
  ASSERT_TRUE(good.op.check().ok());
  EXPECT_EQ(good.op.check_elements().fault(), Fault::attribute);
  EXPECT_EQ(good.op.run(nullptr).fault(), Fault::attribute);
  good.op.self.writable = false;
  EXPECT_EQ(good.op.check_outputs(nullptr).fault(), Fault::overlap);
  EXPECT_EQ(good.cache, std::vector<int8_t>(12, 5));
}

}  // namespace
}  // namespace npu_quant::testing
