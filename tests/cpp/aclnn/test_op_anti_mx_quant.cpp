// aclnnAntiMxQuant: numbers of codes, and what phase 1 refuses.
#include "aclnnop/aclnn_anti_mx_quant.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

using Values = std::vector<float>;
using Bytes = std::vector<uint8_t>;

Tensor bytes_tensor(const Bytes& bytes, const Dims& shape, aclDataType dtype) {
  return Tensor(Block(bytes), shape, contiguous_strides(shape), 0, dtype);
}

struct Call {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    return aclnnAntiMxQuantGetWorkspaceSize(x.get(), mxscale.get(), axis, dst_type, y.get(), size,
                                            executor);
  }

  Tensor x = bytes_tensor({0x38, 0x7e, 0x81, 0xb8}, {1, 4}, ACL_FLOAT8_E4M3FN);
  Tensor mxscale = bytes_tensor({128, 0}, {1, 1, 2}, ACL_FLOAT8_E8M0);
  int64_t axis = -1, dst_type = ACL_FLOAT;
  Tensor y = device_output<float>({1, 4}, ACL_FLOAT);
};

class AclnnAntiMxQuant : public OnDevice {
 protected:
  void expect(const Call& call, const Values& values) {
    ASSERT_EQ(run(stream, aclnnAntiMxQuant, call), 0);
    EXPECT_EQ(call.y.host<float>(), values);
  }
};

TEST_F(AclnnAntiMxQuant, Float8) {
  expect(Call(), {2, 896, -0x1p-8f, -2});
  Call e5m2;
  e5m2.x = bytes_tensor({0x3c, 0x7b, 0x81, 0xbc}, {1, 4}, ACL_FLOAT8_E5M2);
  expect(e5m2, {2, 114688, -0x1p-15f, -2});
}

TEST_F(AclnnAntiMxQuant, Float4) {
  for (const bool e2m1 : {true, false}) {
    Call call;
    call.x = bytes_tensor({0x21, 0xf7}, {1, 4}, e2m1 ? ACL_FLOAT4_E2M1 : ACL_FLOAT4_E1M2);
    expect(call, e2m1 ? Values{1, 2, 12, -12} : Values{.5f, 1, 3.5f, -3.5f});
  }
}

// Two columns of 33 rows: the byte beside the first is that of row 32.
TEST_F(AclnnAntiMxQuant, Float4AlongAnotherAxis) {
  Call call;
  call.axis = 0;
  call.x = bytes_tensor(Bytes(33, 0x42), {33, 2}, ACL_FLOAT4_E2M1);
  call.mxscale = bytes_tensor({127, 128, 126, 129}, {1, 2, 2}, ACL_FLOAT8_E8M0);
  call.y = device_output<float>({33, 2}, ACL_FLOAT);
  Values values;
  for (int row = 0; row < 32; ++row) values.insert(values.end(), {1, 1});
  values.insert(values.end(), {2, 8});
  expect(call, values);
}

TEST_F(AclnnAntiMxQuant, OtherTypesOfResults) {
  Call call;
  call.dst_type = ACL_BF16;
  call.y = device_output<uint16_t>({1, 4}, ACL_BF16);
  ASSERT_EQ(run(stream, aclnnAntiMxQuant, call), 0);
  EXPECT_EQ(call.y.host<uint16_t>(), (std::vector<uint16_t>{0x4000, 0x4460, 0xbb80, 0xc000}));
}

TEST_F(AclnnAntiMxQuant, Refusals) {
  const auto refused = [](auto change) {
    Call call;
    change(call);
    uint64_t size = 7;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(call(&size, &executor), 161002);
    EXPECT_EQ(size, 7U);
    EXPECT_EQ(executor, nullptr);
  };
  refused([](Call& call) { call.axis = 2; });
  refused([](Call& call) { call.dst_type = ACL_FLOAT16; });  // y is float32
  refused([](Call& call) { call.x = bytes_tensor(Bytes(4, 1), {1, 4}, ACL_UINT8); });
  refused([](Call& call) { call.x = bytes_tensor(Bytes(4, 1), {1, 4}, ACL_HIFLOAT8); });
  refused([](Call& call) { call.x = bytes_tensor(Bytes(2, 1), {1, 4}, ACL_INT4); });
  refused([](Call& call) { call.mxscale = bytes_tensor({1, 1}, {1, 2}, ACL_FLOAT8_E8M0); });
  refused([](Call& call) { call.mxscale = bytes_tensor({1}, {1, 1, 1}, ACL_FLOAT8_E8M0); });
  refused([](Call& call) { call.y = device_output<float>({4}, ACL_FLOAT); });
}

}  // namespace
}  // namespace npu_quant::testing
