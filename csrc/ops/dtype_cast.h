// npu_dtype_cast: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct DtypeCast final : Op {
  enum { kY };

  DtypeCast() : Op("npu_dtype_cast") {}

  TensorView self;
  DTypeRequest dtype{.is_default = false};
  DTypeRequest input_dtype;  // what self holds, by default its dtype

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
  Format codes() const { return dtype.format; }

  Format from_ = Format::other;
  TensorView values_;  // self, with the shape of its codes
};

}  // namespace npu_quant
