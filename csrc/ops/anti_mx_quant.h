// npu_anti_mx_quant: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct AntiMxQuant final : Op {
  enum { kY };

  AntiMxQuant() : Op("npu_anti_mx_quant") {}

  TensorView x;
  TensorView mxscale;
  int64_t axis = -1;
  DTypeRequest dst_type;
  DTypeRequest src_type;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  Status check_ranks(const Inputs& given) const override;
  void plan_outputs() override;
  Status check_attributes() override;
  Format codes() const;
  Status check_shapes() override;

  int place_ = 0;  // of the axis
};

}  // namespace npu_quant
