// npu_group_quant and aclnnGroupQuant: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct GroupQuant final : Op {
  enum { kY };

  GroupQuant() : Op("npu_group_quant") {}

  TensorView x;
  TensorView scale;
  TensorView group_index;
  TensorView offset;  // optional
  DTypeRequest dst_dtype;

  Inputs inputs() override;
  Attributes attributes() override;
  Status check_elements() const override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
  Format codes() const { return codes_asked_for(dst_dtype); }
};

}  // namespace npu_quant
