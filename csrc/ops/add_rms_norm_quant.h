// npu_add_rms_norm_quant and aclnnAddRmsNormQuantV2: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct AddRmsNormQuant final : Op {
  enum { kY1, kY2, kX, kRmsNorm };

  // The norm before quantization is an output of the second version only.
  explicit AddRmsNormQuant(bool with_rms_norm = false)
      : Op("npu_add_rms_norm_quant"), with_rms_norm(with_rms_norm) {}

  const bool with_rms_norm;
  TensorView x1, x2, gamma;
  TensorView scales1;
  TensorView zero_points1, beta, scales2, zero_points2;  // optional
  int64_t axis = -1;
  double epsilon = 1e-6;
  bool div_mode = true;
  DTypeRequest dst_type;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Format codes() const { return dst_type.is_default ? Format::int8 : dst_type.format; }
  Status check_shapes() override;
  Status check_quantizer_shape(const char* argument, const TensorView& view) const;
};

}  // namespace npu_quant
