// PyTorch's model of a quantizer, as its documentation describes it.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "quantizer/per_channel_affine_quantizer.h"
#include "quantizer/per_tensor_affine_quantizer.h"
#include "quantizer/quantize_val.h"
#include "views.h"

namespace npu_quant::testing {
namespace {

template <class T>
TensorView row_of(const std::vector<T>& numbers, DType dtype) {
  return contiguous_view(numbers.data(), dtype, static_cast<int64_t>(numbers.size()));
}

std::unique_ptr<PerChannelAffineQuantizer> per_channel(std::vector<double> scales,
                                                       std::vector<int64_t> zero_points,
                                                       int64_t axis, ScalarType type) {
  std::unique_ptr<PerChannelAffineQuantizer> quantizer;
  const Status status = make_per_channel_affine_quantizer(
      row_of(scales, DType::float64), row_of(zero_points, DType::int64), axis, type, quantizer);
  EXPECT_TRUE(status.ok());
  return quantizer;
}

TEST(QScheme, HasPyTorchsNamesAndNumbers) {
  static_assert(std::is_same_v<std::underlying_type_t<QScheme>, uint8_t>);
  EXPECT_EQ(static_cast<int>(kPerTensorAffine), 0);
  EXPECT_EQ(static_cast<int>(kPerChannelAffine), 1);
  EXPECT_EQ(static_cast<int>(kPerTensorSymmetric), 2);
  EXPECT_EQ(static_cast<int>(kPerChannelSymmetric), 3);
  EXPECT_EQ(static_cast<int>(kPerChannelAffineFloatQParams), 4);
  EXPECT_EQ(static_cast<int>(QScheme::COMPILE_TIME_NUM_QSCHEMES), 5);
  EXPECT_EQ(kPerTensorAffine, QScheme::PER_TENSOR_AFFINE);
  EXPECT_STREQ(toString(kPerTensorAffine), "per_tensor_affine");
  EXPECT_STREQ(toString(kPerChannelAffine), "per_channel_affine");
  EXPECT_STREQ(toString(kPerTensorSymmetric), "per_tensor_symmetric");
  EXPECT_STREQ(toString(kPerChannelSymmetric), "per_channel_symmetric");
  EXPECT_STREQ(toString(kPerChannelAffineFloatQParams), "per_channel_affine_float_qparams");
}

TEST(ScalarType, HasPyTorchsNamesAndNumbers) {
  EXPECT_EQ(static_cast<int>(kQInt8), 12);
  EXPECT_EQ(static_cast<int>(kQUInt8), 13);
  EXPECT_EQ(static_cast<int>(kQInt32), 14);
  EXPECT_STREQ(toString(kQInt8), "qint8");
  EXPECT_STREQ(toString(kQUInt8), "quint8");
  EXPECT_STREQ(toString(kQInt32), "qint32");
  EXPECT_EQ(storage_of(kQInt8), DType::int8);
  EXPECT_EQ(storage_of(kQUInt8), DType::uint8);
  EXPECT_EQ(storage_of(kQInt32), DType::int32);
  static_assert(std::is_same_v<quint8::underlying, uint8_t>);
  EXPECT_EQ(quint8(200).val_, 200);
}

TEST(PerTensorAffineQuantizer, HasFourImportantMethods) {
  std::unique_ptr<PerTensorAffineQuantizer> quantizer;
  ASSERT_TRUE(make_per_tensor_affine_quantizer(0.1, 10, kQUInt8, quantizer).ok());
  EXPECT_EQ(quantizer->qscheme(), kPerTensorAffine);
  EXPECT_EQ(quantizer->scale(), 0.1);
  EXPECT_EQ(quantizer->zero_point(), 10);
  EXPECT_EQ(quantizer->scalar_type(), kQUInt8);
  const Quantizer& base = *quantizer;
  EXPECT_EQ(base.qscheme(), kPerTensorAffine);  // always
}

TEST(PerTensorAffineQuantizer, UsesQuantizeVal) {
  const PerTensorAffineQuantizer quantizer(kQUInt8, 0.1, 10);
  std::vector<float> x = {0, 0.25f, -9, 99, 0.35f, NAN}, back(6);
  std::vector<uint8_t> q(6);
  ASSERT_TRUE(quantizer.quantize(view(x, {2, 3}), view(q, {2, 3})).ok());
  EXPECT_EQ(q, (std::vector<uint8_t>{10, 12, 0, 255, 14, 0}));
  ASSERT_TRUE(quantizer.dequantize(view(q, {2, 3}), view(back, {2, 3})).ok());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(q[i], quantize_val<quint8>(0.1, 10, x[i]).val_);
    EXPECT_EQ(back[i], dequantize_val<quint8>(0.1, 10, quint8(q[i])));
  }
}

TEST(PerTensorAffineQuantizer, ItsZeroPointIsACode) {
  std::unique_ptr<PerTensorAffineQuantizer> quantizer;
  for (const int64_t zero_point : {int64_t{-129}, int64_t{128}, INT64_MAX, INT64_MIN}) {
    const Status status = make_per_tensor_affine_quantizer(0.1, zero_point, kQInt8, quantizer);
    EXPECT_EQ(status.fault(), Fault::attribute);
    EXPECT_EQ(message_of(status), "make_per_tensor_affine_quantizer: zero_point is " +
                                      std::to_string(zero_point) +
                                      ", expected -128 to 127 (qint8).");
    EXPECT_EQ(quantizer, nullptr);
  }
  EXPECT_FALSE(make_per_tensor_affine_quantizer(0.1, -1, kQUInt8, quantizer).ok());
  EXPECT_FALSE(make_per_tensor_affine_quantizer(0.1, int64_t{1} << 31, kQInt32, quantizer).ok());
  EXPECT_TRUE(make_per_tensor_affine_quantizer(0.1, INT32_MIN, kQInt32, quantizer).ok());
}

TEST(PerChannelAffineQuantizer, HasAScaleAndAZeroPointForEachChannel) {
  const auto quantizer = per_channel({0.5, 2.0}, {0, 3}, -2, kQInt8);
  EXPECT_EQ(quantizer->qscheme(), kPerChannelAffine);
  EXPECT_EQ(quantizer->scales(), (std::vector<double>{0.5, 2.0}));
  EXPECT_EQ(quantizer->zero_points(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(quantizer->axis(), -2);
  EXPECT_EQ(quantizer->scalar_type(), kQInt8);
  std::vector<float> x = {1, 99, -1, 1, 5, -9}, back(6);
  std::vector<int8_t> q(6);
  ASSERT_TRUE(quantizer->quantize(view(x, {2, 3}), view(q, {2, 3})).ok());
  EXPECT_EQ(q, (std::vector<int8_t>{2, 127, -2, 3, 5, -1}));  // 0.5, 2.5 and -4.5 are ties
  ASSERT_TRUE(quantizer->dequantize(view(q, {2, 3}), view(back, {2, 3})).ok());
  EXPECT_EQ(back, (std::vector<float>{1, 63.5f, -1, 0, 4, -8}));
}

TEST(PerChannelAffineQuantizer, TakesParametersOfEitherWidth) {
  const std::vector<float> scales = {0.1f, 2.0f};
  const std::vector<int32_t> zero_points = {-5, 3};
  std::unique_ptr<PerChannelAffineQuantizer> quantizer;
  ASSERT_TRUE(make_per_channel_affine_quantizer(row_of(scales, DType::float32),
                                                row_of(zero_points, DType::int32), 0, kQInt8,
                                                quantizer)
                  .ok());
  EXPECT_EQ(quantizer->scales(), (std::vector<double>{0.1f, 2.0}));
  EXPECT_EQ(quantizer->zero_points(), (std::vector<int64_t>{-5, 3}));
}

TEST(PerChannelAffineQuantizer, FaultsCarryCodeAndKind) {
  const std::vector<double> scales = {0.5, 2.0};
  const std::vector<int64_t> zero_points = {0, 300}, three = {0, 0, 0};
  const TensorView s = row_of(scales, DType::float64), z = row_of(zero_points, DType::int64);
  std::unique_ptr<PerChannelAffineQuantizer> quantizer;
  const auto make = [&](const TensorView& with_scales, const TensorView& with_zero_points,
                        int64_t axis) {
    return make_per_channel_affine_quantizer(with_scales, with_zero_points, axis, kQInt8,
                                             quantizer);
  };
  EXPECT_EQ(make(TensorView{}, z, 0).fault(), Fault::missing);
  EXPECT_EQ(make(s, TensorView{}, 0).fault(), Fault::missing);
  EXPECT_EQ(make(z, z, 0).fault(), Fault::dtype);
  EXPECT_EQ(make(s, s, 0).fault(), Fault::dtype);
  EXPECT_EQ(make(s, row_of(three, DType::int64), 0).fault(), Fault::shape);
  EXPECT_EQ(make(s, row_of(three, DType::int64), kMaxRank).fault(), Fault::attribute);
  EXPECT_EQ(message_of(make(s, z, 0)),
            "make_per_channel_affine_quantizer: zero_points holds 300, expected -128 to 127 "
            "(qint8).");
  EXPECT_EQ(quantizer, nullptr);
}

TEST(PerChannelAffineQuantizer, ChecksTheChannelsOfAValue) {
  const auto quantizer = per_channel({0.5, 2.0}, {0, 3}, 1, kQInt8);
  std::vector<float> x(6);
  std::vector<int8_t> q(6);
  EXPECT_EQ(message_of(quantizer->quantize(view(x, {2, 3}), view(q, {2, 3}))),
            "PerChannelAffineQuantizer.quantize: x has shape (2, 3), expected 2 along axis 1, the "
            "number of scales.");
  EXPECT_EQ(quantizer->quantize(view(x, {6}), view(q, {6})).fault(), Fault::attribute);
  EXPECT_EQ(quantizer->quantize(view(x, {}), view(q, {})).fault(), Fault::rank);
}

TEST(Quantizer, EqualQuantizersHaveTheSameSchemeTypeAndParameters) {
  const PerTensorAffineQuantizer quantizer(kQInt8, 0.1, 10);
  EXPECT_TRUE(quantizer.equalTo(PerTensorAffineQuantizer(kQInt8, 0.1, 10)));
  EXPECT_FALSE(quantizer.equalTo(PerTensorAffineQuantizer(kQUInt8, 0.1, 10)));
  EXPECT_FALSE(quantizer.equalTo(PerTensorAffineQuantizer(kQInt8, 0.2, 10)));
  EXPECT_FALSE(quantizer.equalTo(PerTensorAffineQuantizer(kQInt8, 0.1, 11)));
  const auto channels = per_channel({0.1}, {10}, 0, kQInt8);
  EXPECT_TRUE(channels->equalTo(*per_channel({0.1}, {10}, 0, kQInt8)));
  EXPECT_FALSE(channels->equalTo(*per_channel({0.1}, {10}, 1, kQInt8)));
  EXPECT_FALSE(channels->equalTo(quantizer));
  EXPECT_FALSE(quantizer.equalTo(*channels));
}

}  // namespace
}  // namespace npu_quant::testing
