// quantize_val and dequantize_val as PyTorch's documentation prints them, and their array form.
#include "quantize_val.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <string>

#include "op_checks.h"
#include "ops/quantize_val.h"
#include "quantizer/per_tensor_affine_quantizer.h"

namespace npu_quant::testing {
namespace {

TEST(QuantizeValFunction, ByHand) {
  const double scale = 0.1;
  const int64_t zero_point = 10;
  EXPECT_EQ(quantize_val<qint8>(scale, zero_point, 0.25f).val_, 12);  // 2.5 is a tie
  EXPECT_EQ(quantize_val<quint8>(scale, zero_point, -0.25f).val_, 8);
  EXPECT_EQ(quantize_val<qint32>(scale, zero_point, 1e6f).val_, 10000010);
  EXPECT_EQ(dequantize_val<qint8>(scale, zero_point, qint8(12)), 0.1f * 2);
  EXPECT_EQ(dequantize_val<quint8>(scale, zero_point, quint8(0)), -1.0f);
}

TEST(QuantizeValFunction, TheZeroPointIsAddedAfterRounding) {
  EXPECT_EQ(quantize_val<qint8>(1.0, 1, 0.5f).val_, 1);
  EXPECT_EQ(quantize_val<qint8>(1.0, 1, 1.5f).val_, 3);
  EXPECT_EQ(quantize_val<qint8>(1.0, 1, 2.5f).val_, 3);
  EXPECT_EQ(quantize_val<qint8>(1.0, 1, -0.5f).val_, 1);
}

TEST(QuantizeValFunction, CodesSaturate) {
  EXPECT_EQ(quantize_val<qint8>(0.5, 3, 62.5f).val_, 127);
  EXPECT_EQ(quantize_val<qint8>(0.5, 3, -66.0f).val_, -128);
  EXPECT_EQ(quantize_val<quint8>(0.5, 3, -2.0f).val_, 0);
  EXPECT_EQ(quantize_val<qint32>(1.0, 0, 0x1p31f).val_, INT32_MAX);
  EXPECT_EQ(quantize_val<qint32>(1.0, 0, -0x1p31f).val_, INT32_MIN);
}

TEST(QuantizeValFunction, WhatTheCastLeavesUndefined) {
  for (const float value : {INFINITY, 3e38f, 0x1p63f}) {
    EXPECT_EQ(quantize_val<qint8>(1.0, 3, value).val_, 127);
    EXPECT_EQ(quantize_val<qint8>(1.0, 3, -value).val_, -128);
    EXPECT_EQ(quantize_val<qint32>(1.0, 3, value).val_, INT32_MAX);
    EXPECT_EQ(quantize_val<qint32>(1.0, 3, -value).val_, INT32_MIN);
  }
  EXPECT_EQ(quantize_val<quint8>(1.0, 3, NAN).val_, 0);
  EXPECT_EQ(quantize_val<qint8>(0.0, 3, 0.0f).val_, -128);    // 0 * inf
  EXPECT_EQ(quantize_val<qint8>(INFINITY, 3, 5.0f).val_, 3);  // 5 * 0
  EXPECT_EQ(quantize_val<qint32>(NAN, 3, 5.0f).val_, INT32_MIN);
}

TEST(QuantizeValFunction, TheDifferenceIsOneOfInt32) {
  EXPECT_EQ(dequantize_val<qint32>(1.0, 1, qint32(INT32_MIN)), 0x1p31f);
  EXPECT_EQ(dequantize_val<qint32>(1.0, -1, qint32(INT32_MAX)), -0x1p31f);
  EXPECT_EQ(dequantize_val<qint32>(0.5, 0, qint32((1 << 24) + 1)), 0x1p23f);
}

// What array and function make of the same values.
template <class T>
void expect_arrays_agree(ScalarType type, double scale, int64_t zero_point) {
  std::vector<float> x = {0, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, 3e38f, -3e38f};
  for (int i = -3000; i < 3000; ++i) x.push_back(static_cast<float>(scale * 0.25 * i));
  const auto n = static_cast<int64_t>(x.size());
  std::vector<typename T::underlying> q(x.size());
  std::vector<float> back(x.size());
  const PerTensorAffineQuantizer quantizer(type, scale, zero_point);
  ASSERT_TRUE(quantizer.quantize(view(x, {n}), view(q, {n})).ok());
  ASSERT_TRUE(quantizer.dequantize(view(q, {n}), view(back, {n})).ok());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(q[i], quantize_val<T>(scale, zero_point, x[i]).val_) << x[i];
    const float value = dequantize_val<T>(scale, zero_point, T(q[i]));
    if (value == value)
      ASSERT_EQ(bits_of(back[i]), bits_of(value)) << x[i];
    else
      ASSERT_NE(back[i], back[i]) << x[i];
  }
}

TEST(QuantizeValFunction, ArraysAgreeOnEveryTarget) {
  on_every_target([] {
    for (const double scale : {0.1, 1.0, -0.37, 3e-5, 0.0, 1e39, static_cast<double>(NAN)}) {
      for (const int64_t zero_point : {0, 1, 101, 127}) {
        expect_arrays_agree<qint8>(kQInt8, scale, zero_point);
        expect_arrays_agree<quint8>(kQUInt8, scale, zero_point);
        expect_arrays_agree<qint32>(kQInt32, scale, zero_point);
      }
      expect_arrays_agree<qint8>(kQInt8, scale, -128);
      expect_arrays_agree<quint8>(kQUInt8, scale, 255);
      expect_arrays_agree<qint32>(kQInt32, scale, INT32_MIN);
      expect_arrays_agree<qint32>(kQInt32, scale, INT32_MAX);
    }
  });
}

TEST(QuantizeVal, TheCallersRoundingDoesNotEnterArrays) {
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i * 7919 % 1000);
  std::vector<int32_t> expected(1000), q(1000);
  std::vector<float> expected_back(1000), back(1000);
  // Neither number is one of float32.
  const PerTensorAffineQuantizer plain(kQInt32, 0.1, (1 << 24) + 1);
  ASSERT_TRUE(plain.quantize(view(x, {1000}), view(expected, {1000})).ok());
  ASSERT_TRUE(plain.dequantize(view(expected, {1000}), view(expected_back, {1000})).ok());
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const PerTensorAffineQuantizer odd(kQInt32, 0.1, (1 << 24) + 1);
    const bool ok = odd.quantize(view(x, {1000}), view(q, {1000})).ok() &&
                    odd.dequantize(view(q, {1000}), view(back, {1000})).ok();
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(ok);
    EXPECT_EQ(after, mode);
    EXPECT_EQ(q, expected);
    EXPECT_EQ(back, expected_back);
  }
}

TEST(QuantizeVal, FaultsHaveKinds) {
  std::vector<float> x(4);
  const PerTensorAffineQuantizer quantizer(kQInt8, 0.1, 0);
  QuantizeVal good("op", "x", quantizer.parameters());
  good.value = view(x, {4});
  ASSERT_TRUE(good.check().ok());
  EXPECT_EQ(good.outputs[QuantizeVal::kQ].dtype, DType::int8);
  EXPECT_EQ(good.outputs[QuantizeVal::kQ].shape, (Shape{1, {4}}));
  const TensorView q = view(x.data(), DType::int8, shape_of({4}));
  EXPECT_EQ(quantizer.quantize(view(x, {4}), q).fault(), Fault::overlap);
}

TEST(DequantizeVal, FaultsHaveKinds) {
  std::vector<float> x(4);
  DequantizeVal op("op", "q", {});
  op.value = view(x, {4});
  EXPECT_EQ(message_of(op.check()), "op: q has dtype float32, expected int8, uint8 or int32.");
  const PerTensorAffineQuantizer quantizer(kQUInt8, 0.1, 0);
  op.parameters = quantizer.parameters();
  EXPECT_EQ(message_of(op.check()), "op: q has dtype float32, expected uint8.");
}

}  // namespace
}  // namespace npu_quant::testing
