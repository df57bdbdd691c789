// npu_grouped_dynamic_mx_quant: the contract.
#pragma once

#include "ops/split/mx_quant.h"

namespace npu_quant {

struct GroupedDynamicMxQuant final : MxQuant {
  enum { kY, kMxScale };

  GroupedDynamicMxQuant() : MxQuant("npu_grouped_dynamic_mx_quant", "x", Format::float8_e5m2) {}

  TensorView group_index;

  Inputs inputs() override;
  Attributes attributes() override;
  Status check_elements() const override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
  int64_t other_scale_alg() const override { return is_packed(codes()) ? 2 : 1; }
};

}  // namespace npu_quant
