// npu_dynamic_mx_quant and npu_dynamic_mx_quant_with_dual_axis: the contract.
#pragma once

#include "ops/split/mx_quant.h"

namespace npu_quant {

struct DynamicMxQuant final : MxQuant {
  enum { kY, kMxScale };

  DynamicMxQuant() : MxQuant("npu_dynamic_mx_quant") {}

  static constexpr Takes kInput = floats().ranks(1, kMaxRank - 1);
  int64_t axis = -1;

  Inputs inputs() override { return Inputs::of(required("input", input, kInput)); }
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;

  int place_ = 0;  // of the axis
};

// Along the last axis, then along the one before it.
struct DynamicMxQuantWithDualAxis final : MxQuant {
  enum { kY1, kMxScale1, kY2, kMxScale2 };

  DynamicMxQuantWithDualAxis() : MxQuant("npu_dynamic_mx_quant_with_dual_axis") {}

  static constexpr Takes kInput = floats().ranks(2, kMaxRank - 1);

  Inputs inputs() override { return Inputs::of(required("input", input, kInput)); }
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
};

}  // namespace npu_quant
