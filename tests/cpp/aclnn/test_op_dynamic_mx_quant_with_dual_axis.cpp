// aclnnDynamicMxQuantWithDualAxis and V2: codes and bytes along both axes, and what phase 1
// refuses.
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis.h"
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis_v2.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Bytes = std::vector<uint8_t>;

// Codes of 4 bits count as such, in half as many bytes.
Tensor codes_tensor(aclDataType dtype) {
  const bool is_packed = dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2;
  return Tensor(Block(Bytes(is_packed ? 4 : 8, 77)), {2, 4}, {4, 1}, 0, dtype);
}

struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    char* const mode = round_mode.empty() ? nullptr : const_cast<char*>(round_mode.c_str());
    if (version == 1)
      return aclnnDynamicMxQuantWithDualAxisGetWorkspaceSize(x.get(), mode, dst_type, alg, y1.get(),
                                                             mxscale1.get(), y2.get(),
                                                             mxscale2.get(), size, executor);
    return aclnnDynamicMxQuantWithDualAxisV2GetWorkspaceSize(
        x.get(), mode, dst_type, alg, dst_type_max, y1.get(), mxscale1.get(), y2.get(),
        mxscale2.get(), size, executor);
  }
  auto phase2() const {
    return version == 1 ? aclnnDynamicMxQuantWithDualAxis : aclnnDynamicMxQuantWithDualAxisV2;
  }
  void set_codes(aclDataType dtype) {
    y1 = codes_tensor(dtype), y2 = codes_tensor(dtype);
    dst_type = dtype;
  }

  int version = 2;
  Tensor x = tensor_of({1, -2, 4, 0, 1, 8, -0.5f, 0}, {2, 4}, ACL_FLOAT16);
  std::string round_mode = "rint";  // empty: NULL
  int64_t dst_type = ACL_FLOAT8_E4M3FN, alg = 0;
  double dst_type_max = 0;
  Tensor y1 = codes_tensor(ACL_FLOAT8_E4M3FN), y2 = codes_tensor(ACL_FLOAT8_E4M3FN);
  Tensor mxscale1 = device_output<uint8_t>({2, 1, 2}, ACL_FLOAT8_E8M0);
  Tensor mxscale2 = device_output<uint8_t>({1, 4, 2}, ACL_FLOAT8_E8M0);
};

class AclnnDynamicMxQuantWithDualAxis : public OnDevice, public ::testing::WithParamInterface<int> {
 protected:
  void expect(Call& call, const Bytes& y1, const Bytes& scale1, const Bytes& y2,
              const Bytes& scale2) {
    call.version = GetParam();
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
    EXPECT_EQ(call.y1.host<uint8_t>(), y1);
    EXPECT_EQ(call.mxscale1.host<uint8_t>(), scale1);
    EXPECT_EQ(call.y2.host<uint8_t>(), y2);
    EXPECT_EQ(call.mxscale2.host<uint8_t>(), scale2);
  }
  void expect_refusals(const std::vector<Fault<Call>>& faults) {
    expect_all_refused<Call>(faults, [](Call& call) { call.version = GetParam(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Version, AclnnDynamicMxQuantWithDualAxis, ::testing::Values(1, 2));

// Powers of two: 4 and 8 are the greatest of the rows, 1 8 4 0 those of the columns. What the
// greatest becomes is 2^8, the code 0x78; half of it is 8 codes less.
TEST_P(AclnnDynamicMxQuantWithDualAxis, Float8) {
  for (const char* mode : {"rint", ""}) {
    Call call;
    call.round_mode = mode;
    expect(call, {0x68, 0xf0, 0x78, 0x00, 0x60, 0x78, 0xd8, 0x00}, {121, 0, 122, 0},
           {0x78, 0xe8, 0x78, 0x00, 0x78, 0x78, 0xe0, 0x00}, {119, 0, 122, 0, 121, 0, 0, 0});
  }
}

// The greatest becomes 4, the code 6. Of -0.5 beside 8, times 1 / 2, floor makes -0.5, the code 9.
TEST_P(AclnnDynamicMxQuantWithDualAxis, Float4) {
  Call call;
  call.set_codes(ACL_FLOAT4_E2M1);
  call.round_mode = "floor";
  expect(call, nibbles_of({2, 12, 6, 0, 1, 6, 9, 0}), {127, 0, 128, 0},
         nibbles_of({6, 10, 6, 0, 6, 6, 9, 0}), {125, 0, 128, 0, 127, 0, 0, 0});
}

TEST_P(AclnnDynamicMxQuantWithDualAxis, GreatestOfScaleAlg2) {
  if (GetParam() == 1) GTEST_SKIP() << "since V2";
  Call call;
  call.x = tensor_of({7, 6.5f, 3, 1, 0, 0, 0, 0}, {2, 4}, ACL_FLOAT16);
  call.set_codes(ACL_FLOAT4_E2M1);
  call.alg = 2, call.dst_type_max = 7;
  expect(call, nibbles_of({7, 7, 5, 2, 0, 0, 0, 0}), {127, 0, 0, 0},
         nibbles_of({7, 7, 7, 6, 0, 0, 0, 0}), {127, 0, 127, 0, 126, 0, 125, 0});
}

TEST_P(AclnnDynamicMxQuantWithDualAxis, Refuses) {
  const auto fp4 = [](Call& c) { c.set_codes(ACL_FLOAT4_E2M1); };
  expect_refusals({
      {"x int8", [](Call& c) { c.x = ones({2, 4}, ACL_INT8); }, 161002, "x has dtype ACL_INT8"},
      {"x rank 1", [](Call& c) { c.x = ones({8}, ACL_FLOAT16); }, 161002, "x has 1 dimension"},
      {"y1 int8", [](Call& c) { c.y1 = ones({2, 4}, ACL_INT8); }, 161002, "y1Out has dtype"},
      {"y2 of another dtype", [](Call& c) { c.y2 = codes_tensor(ACL_FLOAT8_E5M2); }, 161002,
       "y2Out has dtype ACL_FLOAT8_E5M2, expected ACL_FLOAT8_E4M3FN"},
      {"y2", [](Call& c) { c.y2 = ones({4, 2}, ACL_FLOAT8_E4M3FN); }, 161002,
       "y2Out has shape (4, 2), expected (2, 4)"},
      {"scale1", [](Call& c) { c.mxscale1 = ones({1, 4, 2}, ACL_FLOAT8_E8M0); }, 161002,
       "mxscale1Out has shape (1, 4, 2), expected (2, 1, 2)"},
      {"scale2", [](Call& c) { c.mxscale2 = ones({2, 1, 2}, ACL_FLOAT8_E8M0); }, 161002,
       "mxscale2Out has shape (2, 1, 2), expected (1, 4, 2)"},
      {"scale2 of bytes", [](Call& c) { c.mxscale2 = ones({1, 4, 2}, ACL_UINT8); }, 161002,
       "mxscale2Out has dtype ACL_UINT8, expected ACL_FLOAT8_E8M0"},
      {"torch_npu's number", [](Call& c) { c.dst_type = 292; }, 161002, "dstType is 292"},
      {"another type", [](Call& c) { c.dst_type = ACL_FLOAT8_E5M2; }, 161002,
       "dstType is ACL_FLOAT8_E5M2, but the output has dtype ACL_FLOAT8_E4M3FN"},
      {"round", [](Call& c) { c.round_mode = "round"; }, 161002, "roundModeOptional is 'round'"},
      {"alg 2 of float8", [](Call& c) { c.alg = 2; }, 161002, "scaleAlg is 2"},
      {"alg 1 of float4", [&](Call& c) { fp4(c), c.alg = 1; }, 161002, "scaleAlg is 1"},
  });
  if (GetParam() == 1) return;
  expect_refusals({
      {"another alg's", [](Call& c) { c.dst_type_max = 6; }, 161002, "(it belongs to scaleAlg 2)."},
      {"small", [&](Call& c) { fp4(c), c.alg = 2, c.dst_type_max = 5; }, 161002, "dstTypeMax is 5"},
  });
}

}  // namespace
}  // namespace npu_quant::testing
