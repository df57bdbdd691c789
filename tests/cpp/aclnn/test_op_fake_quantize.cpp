// aclnnFakeQuantPerTensorAffineCachemask and per channel: values, masks, and what phase 1 refuses.
#include <cmath>

#include "aclnnop/aclnn_fake_quant_per_channel_affine_cachemask.h"
#include "aclnnop/aclnn_fake_quant_per_tensor_affine_cachemask.h"
#include "op_checks.h"

namespace npu_quant::testing {
namespace {

struct PerTensor {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    return aclnnFakeQuantPerTensorAffineCachemaskGetWorkspaceSize(
        self.get(), scale.get(), zero_point.get(), enabled, quant_min, quant_max, out.get(),
        mask.get(), size, executor);
  }

  Tensor self = tensor_of({0.5f, 1, -2, 100}, {2, 2}, ACL_FLOAT);
  Tensor scale = ones({1}, ACL_FLOAT), zero_point = ones({1}, ACL_INT32);
  float enabled = 1;
  int64_t quant_min = -128, quant_max = 127;
  Tensor out = device_output<float>({2, 2}, ACL_FLOAT);
  Tensor mask = device_output<int8_t>({2, 2}, ACL_BOOL);
};

struct PerChannel {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    return aclnnFakeQuantPerChannelAffineCachemaskGetWorkspaceSize(
        self.get(), scale.get(), zero_point.get(), axis, quant_min, quant_max, out.get(),
        mask.get(), size, executor);
  }

  Tensor self = tensor_of({1.25f, 1.5f, 5, -9, -20, 100}, {2, 3}, ACL_FLOAT);
  Tensor scale = tensor_of({0.5f, 1, 2}, {3}, ACL_FLOAT);
  Tensor zero_point = tensor_of({0, 1, -1}, {3}, ACL_INT32);
  int64_t axis = 1, quant_min = -8, quant_max = 7;
  Tensor out = device_output<float>({2, 3}, ACL_FLOAT);
  Tensor mask = device_output<int8_t>({2, 3}, ACL_BOOL);
};

class AclnnFakeQuant : public OnDevice {
 protected:
  void compute(const PerTensor& call) {
    ASSERT_EQ(run(stream, aclnnFakeQuantPerTensorAffineCachemask, call), 0);
  }
  void compute(const PerChannel& call) {
    ASSERT_EQ(run(stream, aclnnFakeQuantPerChannelAffineCachemask, call), 0);
  }
  // The values, and those of the mask.
  template <class Call>
  void expect(const Call& call, const std::vector<float>& out, const std::vector<float>& mask,
              aclDataType dtype = ACL_FLOAT) {
    compute(call);
    EXPECT_EQ(floats_in(call.out, dtype), out);
    EXPECT_EQ(floats_in(call.mask, ACL_BOOL), mask);
  }
};

// A call for a self of one axis.
PerTensor per_tensor(const std::vector<float>& self, float scale, int32_t zero_point) {
  PerTensor call;
  const Dims shape{static_cast<int64_t>(self.size())};
  call.self = tensor_of(self, shape, ACL_FLOAT);
  call.scale = device_tensor<float>({scale}, {1}, ACL_FLOAT);
  call.zero_point = device_tensor<int32_t>({zero_point}, {1}, ACL_INT32);
  call.out = device_output<float>(shape, ACL_FLOAT);
  call.mask = device_output<int8_t>(shape, ACL_BOOL);
  return call;
}

TEST_F(AclnnFakeQuant, OneElement) {
  PerTensor call = per_tensor({1}, 1, 1);
  call.quant_min = 1, call.quant_max = 3;
  expect(call, {1}, {1});
  PerChannel channels;
  channels.self = ones({1}, ACL_FLOAT);
  channels.scale = ones({1}, ACL_FLOAT);
  channels.zero_point = ones({1}, ACL_INT32);
  channels.out = device_output<float>({1}, ACL_FLOAT);
  channels.mask = device_output<int8_t>({1}, ACL_BOOL);
  channels.axis = 0, channels.quant_min = 1, channels.quant_max = 3;
  expect(channels, {1}, {1});
}

TEST_F(AclnnFakeQuant, HandVector) {
  const PerTensor call = per_tensor({0.25f, 0.05f, 0.15f, 12.75f, kInf, -kInf, kNaN}, 0.1f, 0);
  const float step = 0.1f;
  expect(call, {2 * step, 0, 2 * step, 127 * step, 127 * step, -128 * step, -128 * step},
         {1, 1, 1, 0, 0, 0, 0});
}

// The zero point is added after rounding.
TEST_F(AclnnFakeQuant, TiesWithAnOddZeroPoint) {
  const PerTensor call = per_tensor({0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f}, 1, 1);
  expect(call, {0, 2, 2, 0, -2, -2}, {1, 1, 1, 1, 1, 1});
}

TEST_F(AclnnFakeQuant, ZeroPointOutsideOfTheRangePerTensor) {
  PerTensor call = per_tensor({-3, 0, 2}, 1, 10);
  call.quant_min = 0, call.quant_max = 8;
  expect(call, {-3, -2, -2}, {1, 0, 0});
}

TEST_F(AclnnFakeQuant, SwitchedOff) {
  for (const float enabled : {0.0f, 0.5f, -1.0f}) {
    PerTensor call = per_tensor({0.3f, 1e30f, -kInf}, 1, 0);
    call.enabled = enabled;
    expect(call, {0.3f, 1e30f, -kInf}, {1, 1, 1});
  }
  PerTensor call = per_tensor({0.3f, 1e30f, -kInf}, 1, 0);
  call.enabled = 2;
  expect(call, {0, 127, -128}, {1, 0, 0});
}

TEST_F(AclnnFakeQuant, PerChannelAlongEitherAxis) {
  PerChannel call;
  const std::vector<float> out{1, 2, 4, -4, -9, 16}, mask{1, 1, 1, 0, 0, 0};
  expect(call, out, mask);
  call.axis = -1;
  expect(call, out, mask);
  call.scale = tensor_of({0.5f, 2}, {2}, ACL_FLOAT);
  call.zero_point = tensor_of({0, -1}, {2}, ACL_INT32);
  for (const int64_t axis : {0, -2}) {
    call.axis = axis;
    expect(call, {1, 1.5f, 3.5f, -8, -14, 16}, {1, 1, 0, 1, 0, 0});
  }
}

// Self, scale and out each have a dtype of their own; the arithmetic is float32's.
TEST_F(AclnnFakeQuant, EveryMixOfDtypes) {
  for (const aclDataType self : kFloatDtypes)
    for (const aclDataType scale : kFloatDtypes)
      for (const aclDataType out : kFloatDtypes) {
        SCOPED_TRACE(::testing::Message() << self << ' ' << scale << ' ' << out);
        PerChannel call;
        call.self = tensor_of({1.25f, 1.5f, 5, -9, -20, 100}, {2, 3}, self);
        call.scale = tensor_of({0.5f, 1, 2}, {3}, scale);
        call.out = ones({2, 3}, out);
        expect(call, {1, 2, 4, -4, -9, 16}, {1, 1, 1, 0, 0, 0}, out);
        PerTensor one;
        one.self = tensor_of({1.25f, 1.5f, 5, -9}, {2, 2}, self);
        one.scale = tensor_of({0.5f}, {1}, scale);
        one.out = ones({2, 2}, out);
        one.quant_max = 7;
        expect(one, {1, 1.5f, 3, -9}, {1, 1, 0, 1}, out);
      }
}

// 1001 steps of 0.1 are beyond float16's precision, 700000 of 0.1 beyond its range.
TEST_F(AclnnFakeQuant, RoundsOnceToTheDtypeOfOut) {
  PerTensor call = per_tensor({100.1f, 70000, -70000}, 0.1f, 0);
  call.quant_min = -(1 << 24), call.quant_max = 1 << 24;
  call.out = device_output<uint16_t>({3}, ACL_FLOAT16);
  expect(call, {100.125f, kInf, -kInf}, {1, 1, 1}, ACL_FLOAT16);
  call.out = device_output<uint16_t>({3}, ACL_BF16);
  expect(call, {100, 70144, -70144}, {1, 1, 1}, ACL_BF16);
  call.enabled = 0;
  expect(call, {100, 70144, -70144}, {1, 1, 1}, ACL_BF16);
}

// 0.1 in float16 is 0.0999755859375: a scale is widened, not computed with in its own dtype.
TEST_F(AclnnFakeQuant, HalfScaleOfFloats) {
  PerTensor call = per_tensor({12.7f, 1, 300}, 1, 0);
  call.scale = device_tensor<uint16_t>({0x2e66}, {}, ACL_FLOAT16);
  const float step = 0.0999755859375f;
  expect(call, {127 * step, 10 * step, 127 * step}, {1, 1, 0});
}

TEST_F(AclnnFakeQuant, StridesOfInputsAndOutputs) {
  PerChannel call;
  call.self = strided_of({1.25f, 1.5f, 5, -9, -20, 100}, {2, 3}, ACL_FLOAT16, {1, 4}, 2);
  call.scale = strided_of({0.5f, 1, 2}, {3}, ACL_FLOAT, {3}, 1);
  call.zero_point = strided_of({0, 1, -1}, {3}, ACL_INT32, {2}, 1);
  call.out = strided_tensor<float>(std::vector<float>(6, 77), {2, 3}, ACL_FLOAT, {1, 3}, 1, 99);
  call.mask = strided_tensor<int8_t>(std::vector<int8_t>(6, 77), {2, 3}, ACL_BOOL, {5, 2}, 3, 99);
  expect(call, {1, 2, 4, -4, -9, 16}, {1, 1, 1, 0, 0, 0});
  EXPECT_EQ(call.out.block<float>(), (std::vector<float>{99, 1, -4, 99, 2, -9, 99, 4, 16}));
  EXPECT_EQ(call.mask.block<int8_t>(),
            (std::vector<int8_t>{99, 99, 99, 1, 99, 1, 99, 1, 0, 99, 0, 99, 0}));
}

TEST_F(AclnnFakeQuant, OneElementOfAnyRank) {
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{1, 1, 1}}) {
    PerTensor call;
    call.scale = ones(shape, ACL_FLOAT);
    call.zero_point = ones(shape, ACL_INT32);
    expect(call, {0, 1, -2, 100}, {1, 1, 1, 1});
  }
  PerTensor call = per_tensor({}, 1, 0);
  call.self = tensor_of({2.5f}, {}, ACL_FLOAT);
  call.out = device_output<float>({}, ACL_FLOAT);
  call.mask = device_output<int8_t>({}, ACL_BOOL);
  expect(call, {2}, {1});
}

TEST_F(AclnnFakeQuant, Empty) {
  expect(per_tensor({}, 1, 0), {}, {});
  PerChannel call;
  call.self = ones({0, 3}, ACL_FLOAT);
  call.out = ones({0, 3}, ACL_FLOAT);
  call.mask = ones({0, 3}, ACL_BOOL);
  expect(call, {}, {});
}

template <class Call>
std::vector<Fault<Call>> common_faults() {
  const auto one = [](aclDataType dtype) { return ones({1}, dtype); };
  return {
      {"scale int32", [=](Call& c) { c.scale = one(ACL_INT32); }, 161002, "ACL_INT32"},
      {"zeroPoint int64", [=](Call& c) { c.zero_point = one(ACL_INT64); }, 161002, "ACL_INT64"},
      {"zeroPoint float", [=](Call& c) { c.zero_point = one(ACL_FLOAT); }, 161002, "zeroPoint"},
      {"zeroPoint half", [=](Call& c) { c.zero_point = one(ACL_FLOAT16); }, 161002, "zeroPoint"},
      {"out shape", [](Call& c) { c.out = ones({5, 2}, ACL_FLOAT); }, 161002, "out"},
      {"mask shape", [](Call& c) { c.mask = ones({5, 2}, ACL_BOOL); }, 161002, "mask"},
      {"scales", [](Call& c) { c.scale = ones({7}, ACL_FLOAT); }, 161002, "scale"},
      {"zeros", [](Call& c) { c.zero_point = ones({7}, ACL_INT32); }, 161002, "zeroPoint"},
      {"range", [](Call& c) { c.quant_min = 10, c.quant_max = -10; }, 161002, "quantMin"},
      {"min", [](Call& c) { c.quant_min = -(1 << 24) - 1; }, 161002, "quantMin"},
      {"max", [](Call& c) { c.quant_max = (1 << 24) + 1; }, 161002, "quantMax"},
  };
}

template <class Call>
void expect_dtypes_refused(const Dims& shape) {
  for (const aclDataType dtype : {ACL_INT32, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_DOUBLE}) {
    SCOPED_TRACE(dtype);
    expect_all_refused<Call>({
        {"self", [&](Call& c) { c.self = ones(shape, dtype); }, 161002, "self"},
        {"out", [&](Call& c) { c.out = ones(shape, dtype); }, 161002, "out"},
        {"mask", [&](Call& c) { c.mask = ones(shape, dtype); }, 161002, "mask"},
    });
  }
}

TEST_F(AclnnFakeQuant, Refusals) {
  expect_all_refused<PerTensor>(common_faults<PerTensor>());
  expect_all_refused<PerChannel>(common_faults<PerChannel>());
  expect_dtypes_refused<PerTensor>({2, 2});
  expect_dtypes_refused<PerChannel>({2, 3});
}

TEST_F(AclnnFakeQuant, PerChannelRefusals) {
  using Call = PerChannel;
  expect_all_refused<Call>({
      {"axis", [](Call& c) { c.axis = 2; }, 161002, "axis"},
      {"negative axis", [](Call& c) { c.axis = -3; }, 161002, "axis"},
      {"length", [](Call& c) { c.axis = 0; }, 161002, "scale"},
      {"scale rank 2", [](Call& c) { c.scale = ones({1, 3}, ACL_FLOAT); }, 161002, "scale"},
      {"scale rank 0", [](Call& c) { c.scale = ones({}, ACL_FLOAT); }, 161002, "scale"},
      {"zero rank 2", [](Call& c) { c.zero_point = ones({3, 1}, ACL_INT32); }, 161002, "zeroPoint"},
      {"one scale", [](Call& c) { c.scale = ones({1}, ACL_FLOAT); }, 161002, "scale"},
  });
}

// The zero points are data, which phase 2 may be the first to see.
TEST_F(AclnnFakeQuant, RefusesZeroPointsOutsideOfTheRangePerChannel) {
  PerChannel call;
  call.zero_point = tensor_of({0, 8, 0}, {3}, ACL_INT32);
  EXPECT_EQ(run(stream, aclnnFakeQuantPerChannelAffineCachemask, call), 161002);
}

}  // namespace
}  // namespace npu_quant::testing
