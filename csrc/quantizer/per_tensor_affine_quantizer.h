// One scale and zero point for all elements.
#pragma once

#include <memory>

#include "quantizer/quantizer.h"

namespace npu_quant {

class PerTensorAffineQuantizer final : public Quantizer {
 public:
  // The zero point is a code of the type: make_per_tensor_affine_quantizer checks that.
  PerTensorAffineQuantizer(ScalarType scalar_type, double scale, int64_t zero_point);

  QScheme qscheme() const override { return kPerTensorAffine; }
  double scale() const { return scale_; }
  int64_t zero_point() const { return zero_point_; }

  bool equalTo(const Quantizer& other) const override;
  QuantizeVal quantize_op() const override;
  DequantizeVal dequantize_op() const override;

  AffineParameters parameters() const;

 private:
  const double scale_;
  const int64_t zero_point_;
  float scale_f32_;
  int32_t zero_point_i32_;
};

// `name` is what messages begin with.
Status make_per_tensor_affine_quantizer(double scale, int64_t zero_point, ScalarType scalar_type,
                                        std::unique_ptr<PerTensorAffineQuantizer>& quantizer,
                                        const char* name = "make_per_tensor_affine_quantizer");

}  // namespace npu_quant
