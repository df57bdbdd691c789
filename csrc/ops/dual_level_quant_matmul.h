// npu_dual_level_quant_matmul: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct DualLevelQuantMatmul final : Op {
  enum { kY };

  DualLevelQuantMatmul() : Op("npu_dual_level_quant_matmul") {}

  TensorView x1, x2;  // float4_e2m1, two along k in a byte
  TensorView x1_level0_scale, x2_level0_scale, x1_level1_scale, x2_level1_scale;
  TensorView bias;  // optional
  DTypeRequest output_dtype;

  Inputs inputs() final;
  Attributes attributes() final;
  Status run(const TensorView* out) const final;

 private:
  void plan_outputs() final;
  Status check_attributes() final;
  Status check_shapes() final;
};

}  // namespace npu_quant
