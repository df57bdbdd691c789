// npu_dtype_cast as a C++ caller sees it: the contract, without Python.
#include "ops/dtype_cast.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(DtypeCast, ByHand) {
  Values values = {1, -1.5f, .3f, 448, -500, 1e-4f, -1e-4f, -0.0f};
  const auto expect = [&](Format format, const std::vector<int64_t>& shape, const Values& codes) {
    DtypeCast op;
    op.self = view(values, {8});
    op.dtype = requested(format);
    expect_results(op, {{shape, codes}});
  };
  expect(Format::float8_e4m3fn, {8}, {0x38, 0xbc, 0x2a, 0x7e, 0xfe, 0x00, 0x80, 0x80});
  expect(Format::float8_e5m2, {8}, {0x3c, 0xbe, 0x35, 0x5f, 0xe0, 0x07, 0x87, 0x80});
  expect(Format::hifloat8, {8}, {0x08, 0x8c, 0x32, 0x62, 0xe2, 0x7d, 0xfd, 0x00});
  expect(Format::float8_e8m0fnu, {8}, {0x7f, 0xff, 0x7d, 0x88, 0xff, 0x72, 0xff, 0x00});
  expect(Format::float4_e2m1, {4}, {0xb2, 0x71, 0x0f, 0x88});
  expect(Format::float4_e1m2, {4}, {0xe4, 0x71, 0x0f, 0x88});
  expect(Format::int4, {1}, {0x0008 * 65536 + 0x70e1});  // bytes e1 70 08 00
}

TEST(DtypeCast, FaultsHaveKinds) {
  Values values(16);
  DtypeCast good;
  good.self = view(values, {2, 8}), good.dtype = requested(Format::int4);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.dtype = requested(Format::int8); }),
            Fault::unavailable);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.input_dtype = requested(Format::int4); }),
            Fault::attribute);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.self.dtype = DType::uint8; }), Fault::attribute);
  EXPECT_EQ(fault_of(good, [](auto& op) { op.self.shape.dims[1] = 7; }), Fault::shape);
}

}  // namespace
}  // namespace npu_quant::testing
