// npu_dynamic_dual_level_mx_quant: the contract.
#pragma once

#include "ops/split/mx_quant.h"

namespace npu_quant {

struct DynamicDualLevelMxQuant final : MxQuant {
  enum { kY, kLevel0Scale, kLevel1Scale };

  DynamicDualLevelMxQuant() : MxQuant("npu_dynamic_dual_level_mx_quant") {}

  TensorView smooth_scale;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
};

}  // namespace npu_quant
