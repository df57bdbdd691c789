// npu_dtype_cast as a C++ caller sees it: the contract, without Python.
#include "ops/dtype_cast.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "views.h"

namespace npu_quant::testing {
namespace {

DTypeRequest format(Format format) { return {.is_default = false, .format = format}; }

// The bytes of values as codes; empty where there is a fault.
std::vector<uint8_t> codes_of(std::vector<float> values, Format to) {
  DtypeCast op;
  op.self = view(values, {static_cast<int64_t>(values.size())});
  op.dtype = format(to);
  if (!op.check().ok()) return {};
  const OutputSpec& spec = op.outputs[DtypeCast::kY];
  std::vector<uint8_t> y(static_cast<size_t>(spec.shape.size() * size_of(spec.dtype)));
  TensorView out = contiguous_view(y.data(), spec.dtype, spec.shape.size());
  out.writable = true;
  return op.check_outputs(&out).ok() && op.run(&out).ok() ? y : std::vector<uint8_t>{};
}

using Codes = std::vector<uint8_t>;
const std::vector<float> kValues = {1, -1.5f, .3f, 448, -500, 1e-4f, -1e-4f, -0.0f};

TEST(DtypeCast, ByHand) {
  on_every_target([] {
    EXPECT_EQ(codes_of(kValues, Format::float8_e4m3fn),
              (Codes{0x38, 0xbc, 0x2a, 0x7e, 0xfe, 0x00, 0x80, 0x80}));
    EXPECT_EQ(codes_of(kValues, Format::float8_e5m2),
              (Codes{0x3c, 0xbe, 0x35, 0x5f, 0xe0, 0x07, 0x87, 0x80}));
    EXPECT_EQ(codes_of(kValues, Format::hifloat8),
              (Codes{0x08, 0x8c, 0x32, 0x62, 0xe2, 0x7d, 0xfd, 0x00}));
    EXPECT_EQ(codes_of(kValues, Format::int4), (Codes{0xe1, 0x70, 0x08, 0x00}));
    EXPECT_EQ(codes_of(kValues, Format::float8_e8m0fnu),
              (Codes{0x7f, 0xff, 0x7d, 0x88, 0xff, 0x72, 0xff, 0x00}));
    EXPECT_EQ(codes_of(kValues, Format::float4_e2m1), (Codes{0xb2, 0x71, 0x0f, 0x88}));
    EXPECT_EQ(codes_of(kValues, Format::float4_e1m2), (Codes{0xe4, 0x71, 0x0f, 0x88}));
  });
}

TEST(DtypeCast, TheCallersRoundingDoesNotEnter) {
  const auto expected = codes_of(kValues, Format::float8_e4m3fn);
  std::fesetround(FE_UPWARD);
  const auto codes = codes_of(kValues, Format::float8_e4m3fn);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(codes, expected);
}

TEST(DtypeCast, FaultsHaveKinds) {
  DtypeCast none;
  EXPECT_EQ(none.check().fault(), Fault::missing);
  std::vector<float> values(16);
  const auto fault_of = [&](auto change) {
    DtypeCast op;
    op.self = view(values, {2, 8});
    op.dtype = format(Format::int4);
    change(op);
    return op.check().fault();
  };
  EXPECT_EQ(fault_of([](DtypeCast&) {}), Fault::none);
  EXPECT_EQ(fault_of([](DtypeCast& op) { op.self.dtype = DType::int8; }), Fault::dtype);
  EXPECT_EQ(fault_of([](DtypeCast& op) { op.self.rank = 9; }), Fault::rank);
  EXPECT_EQ(fault_of([](DtypeCast& op) { op.dtype = format(Format::int8); }), Fault::unavailable);
  EXPECT_EQ(fault_of([](DtypeCast& op) { op.input_dtype = format(Format::int4); }),
            Fault::attribute);
  EXPECT_EQ(fault_of([](DtypeCast& op) { op.self.dtype = DType::uint8; }), Fault::attribute);
  EXPECT_EQ(fault_of([](DtypeCast& op) { op.self.shape.dims[1] = 7; }), Fault::shape);
  EXPECT_EQ(fault_of([](DtypeCast& op) {
              op.dtype = format(Format::float4_e2m1);
              op.self.shape.dims[1] = 7;
            }),
            Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
