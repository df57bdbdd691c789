// npu_anti_quant as a C++ caller sees it: the contract, without Python, and sqrt_mode, which Python
// has not.
#include "ops/anti_quant.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "views.h"

namespace npu_quant::testing {
namespace {

using Bits = std::vector<uint16_t>;

// The op on x of some shape, with a 1-D scale and, unless it is empty, an offset.
struct Case {
  std::vector<int8_t> x;
  std::vector<float> scale, offset;
  AntiQuant op;

  Case(std::vector<int8_t> codes, std::initializer_list<int64_t> shape, std::vector<float> scales,
       std::vector<float> offsets = {})
      : x(std::move(codes)), scale(std::move(scales)), offset(std::move(offsets)) {
    op.x = view(x, shape);
    op.scale = view(scale, {static_cast<int64_t>(scale.size())});
    if (!offset.empty()) op.offset = view(offset, {static_cast<int64_t>(offset.size())});
  }
  Case(const Case&) = delete;

  // The bits of y; empty where there is a fault.
  Bits run() {
    Bits y(x.size());
    if (!op.check().ok()) return {};
    TensorView out = contiguous_view(y.data(), op.outputs[AntiQuant::kY].dtype, 0);
    out.writable = true;
    out.rank = op.x.rank;
    out.shape = op.x.shape;
    for (int i = 0; i < out.rank; ++i) out.strides[i] = 2 * op.x.strides[i];
    return op.check_outputs(&out).ok() && op.run(&out).ok() ? y : Bits{};
  }
};

TEST(AntiQuant, ByHand) {
  on_every_target([] {
    Case one({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, {1}, {1});
    EXPECT_EQ(one.run(), (Bits{15360, 16384, 16896, 17408, 17664, 17920, 18176, 18432}));
    Case two({0, 1, 2, 3, 4, 5, 6, 7}, {8}, {2}, {3});  // 6, 8, ... 20
    EXPECT_EQ(two.run(), (Bits{17920, 18432, 18688, 18944, 19200, 19456, 19584, 19712}));
  });
}

TEST(AntiQuant, SqrtModeMultipliesTwice) {
  on_every_target([] {
    Case op({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, {2}, {3});
    op.op.sqrt_mode = true;
    EXPECT_EQ(op.run(), (Bits{18944, 19456, 19712, 19968, 20224, 20480, 20608, 20736}));
    Case columns({1, 1, -1, -1}, {2, 2}, {2, -0.5f});
    columns.op.sqrt_mode = true;
    EXPECT_EQ(columns.run(), (Bits{0x4400, 0x3400, 0xc400, 0xb400}));
    columns.op.dst_dtype = requested(DType::bfloat16);
    EXPECT_EQ(columns.run(), (Bits{0x4080, 0x3e80, 0xc080, 0xbe80}));
  });
}

// scale * scale would be 0.
TEST(AntiQuant, SqrtModeMultipliesTheProduct) {
  on_every_target([] {
    Case op({1}, {1}, {0x1p-80f}, {0x1p80f});
    op.op.sqrt_mode = true;
    op.op.dst_dtype = requested(DType::bfloat16);
    EXPECT_EQ(op.run(), (Bits{0x1780}));  // 2^-80
  });
}

TEST(AntiQuant, ARankOneScaleLiesAlongTheLastAxisThatFits) {
  Case rows({1, 1, 1, 1, 1, 1}, {2, 3}, {1, 2});
  EXPECT_EQ(rows.run(), (Bits{0x3c00, 0x3c00, 0x3c00, 0x4000, 0x4000, 0x4000}));
  Case square({1, 1, 1, 1}, {2, 2}, {1, 2});
  EXPECT_EQ(square.run(), (Bits{0x3c00, 0x4000, 0x3c00, 0x4000}));
  square.op.scale = view(square.scale, {2, 1});
  EXPECT_EQ(square.run(), (Bits{0x3c00, 0x3c00, 0x4000, 0x4000}));
}

TEST(AntiQuant, NoElementsButRules) {
  Case op({}, {3, 0}, {1, 2, 3}, {1, 2, 3});
  EXPECT_TRUE(op.op.check().ok());
  EXPECT_EQ(op.op.outputs[AntiQuant::kY].shape, (Shape{2, {3, 0}}));
  EXPECT_TRUE(op.run().empty());
  op.op.scale = op.op.offset = view(op.scale, {2});
  EXPECT_EQ(op.op.check().fault(), Fault::shape);
}

TEST(AntiQuant, FaultsHaveKinds) {
  AntiQuant none;
  EXPECT_EQ(none.check().fault(), Fault::missing);
  Case op({1, 2, 3, 4, 5, 6}, {2, 3}, {1, 2, 3}, {1, 2, 3});
  none.x = op.op.x;
  EXPECT_EQ(none.check().fault(), Fault::missing);
  const auto fault_of = [&](auto change) {
    AntiQuant changed = op.op;
    change(changed);
    return changed.check().fault();
  };
  EXPECT_EQ(fault_of([](AntiQuant&) {}), Fault::none);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.x.dtype = DType::int16; }), Fault::dtype);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.scale.dtype = DType::float16; }), Fault::dtype);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.offset.dtype = DType::bfloat16; }), Fault::dtype);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.x.rank = a.x.shape.rank = 0; }), Fault::rank);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.x.rank = 9; }), Fault::rank);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.scale.rank = a.scale.shape.rank = 0; }), Fault::rank);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.dst_dtype = requested(DType::int8); }),
            Fault::unavailable);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.src_dtype = requested(DType::int32); }),
            Fault::attribute);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.scale.shape.dims[0] = 4; }), Fault::shape);
  EXPECT_EQ(fault_of([](AntiQuant& a) { a.offset.shape.dims[0] = 1; }), Fault::shape);
}

TEST(AntiQuant, OutputsAreChecked) {
  Case op({1, 2, 3}, {3}, {1});
  ASSERT_TRUE(op.op.check().ok());
  Bits y(3);
  TensorView out = contiguous_view(y.data(), DType::bfloat16, 3);
  out.writable = true;
  EXPECT_EQ(op.op.check_outputs(&out).fault(), Fault::dtype);
  out.dtype = DType::float16;
  EXPECT_TRUE(op.op.check_outputs(&out).ok());
  out.data = op.op.x.data;
  EXPECT_EQ(op.op.check_outputs(&out).fault(), Fault::overlap);
}

TEST(AntiQuant, TheCallersRoundingDoesNotEnter) {
  std::vector<int8_t> x(999);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int8_t>(i * 7);
  Case op(x, {999}, {0.1f}, {0.3f});
  const Bits expected = op.run();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const Bits y = op.run();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(y, expected);
  }
}

}  // namespace
}  // namespace npu_quant::testing
