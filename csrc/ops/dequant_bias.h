// npu_dequant_bias and aclnnDequantBias: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct DequantBias final : Op {
  enum { kY };

  DequantBias() : Op("npu_dequant_bias") {}

  TensorView x;
  TensorView weight_scale;
  TensorView activation_scale;  // optional
  TensorView bias;              // optional
  DTypeRequest output_dtype;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
};

}  // namespace npu_quant
