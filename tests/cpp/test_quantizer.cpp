// PyTorch's model of a quantizer, as its documentation describes it: names, and values of arrays.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "quantizer/per_channel_affine_quantizer.h"
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

}  // namespace
}  // namespace npu_quant::testing
