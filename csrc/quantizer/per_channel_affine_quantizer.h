// A scale and a zero point for each place along an axis.
#pragma once

#include <memory>
#include <vector>

#include "quantizer/quantizer.h"

namespace npu_quant {

class PerChannelAffineQuantizer final : public Quantizer {
 public:
  // As many scales as zero points, which are codes of the type: make_per_channel_affine_quantizer
  // checks that.
  PerChannelAffineQuantizer(ScalarType scalar_type, std::vector<double> scales,
                            std::vector<int64_t> zero_points, int64_t axis);

  QScheme qscheme() const override { return kPerChannelAffine; }
  const std::vector<double>& scales() const { return scales_; }
  const std::vector<int64_t>& zero_points() const { return zero_points_; }
  int64_t axis() const { return axis_; }  // as given; -1 is the last one

  bool equalTo(const Quantizer& other) const override;
  QuantizeVal quantize_op() const override;
  DequantizeVal dequantize_op() const override;

  AffineParameters parameters() const;

  // The rules about dtypes and ranks, which come before those about attributes.
  static Status check_arrays(const char* name, const TensorView& scales,
                             const TensorView& zero_points);

 private:
  const std::vector<double> scales_;
  const std::vector<int64_t> zero_points_;
  const int64_t axis_;
  std::vector<float> scales_f32_;
  std::vector<int32_t> zero_points_i32_;
};

// From 1-D arrays of one length: scales float32 or float64, zero points int32 or int64. `name` is
// what messages begin with.
Status make_per_channel_affine_quantizer(const TensorView& scales, const TensorView& zero_points,
                                         int64_t axis, ScalarType scalar_type,
                                         std::unique_ptr<PerChannelAffineQuantizer>& quantizer,
                                         const char* name = "make_per_channel_affine_quantizer");

}  // namespace npu_quant
