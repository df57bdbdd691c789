// npu_add_rms_norm_dynamic_quant: the contract.
#pragma once

#include "ops/rms_norm.h"

namespace npu_quant {

struct AddRmsNormDynamicQuant final : RmsNorm {
  AddRmsNormDynamicQuant() : RmsNorm("npu_add_rms_norm_dynamic_quant", "x1") {}
  enum { kY1, kY2, kX, kScale1, kScale2 };

  TensorView x2;
  TensorView smooth_scales[2];  // optional
  Wanted output_mask;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;

  // Whether y1 or y2, and its scales, are computed; what is not is a zero without axes.
  bool computes(int branch) const;
};

}  // namespace npu_quant
