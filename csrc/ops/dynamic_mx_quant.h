// npu_dynamic_mx_quant and npu_dynamic_mx_quant_with_dual_axis: the contract.
#pragma once

#include "ops/mx_quant.h"

namespace npu_quant {

struct DynamicMxQuant final : MxQuant {
  enum { kY, kMxScale };

  DynamicMxQuant() : MxQuant("npu_dynamic_mx_quant") {}

  int64_t axis = -1;

  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  Status check_ranks() const override;
  void plan_outputs() override;
  Status check_attributes() override;

  int place_ = 0;  // of the axis
};

// Along the last axis, then along the one before it.
struct DynamicMxQuantWithDualAxis final : MxQuant {
  enum { kY1, kMxScale1, kY2, kMxScale2 };

  DynamicMxQuantWithDualAxis() : MxQuant("npu_dynamic_mx_quant_with_dual_axis") {}

  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  Status check_ranks() const override;
  void plan_outputs() override;
  Status check_attributes() override;
};

}  // namespace npu_quant
