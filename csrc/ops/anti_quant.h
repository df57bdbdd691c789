// npu_anti_quant and aclnnAscendAntiQuant: the contract.
#pragma once

#include "ops/contract/op.h"
#include "ops/split/parameter.h"

namespace npu_quant {

struct AntiQuant final : Op {
  enum { kY };

  AntiQuant() : Op("npu_anti_quant") {}

  TensorView x;
  TensorView scale;
  TensorView offset;  // optional
  DTypeRequest dst_dtype;
  DTypeRequest src_dtype;
  // aclnnAscendAntiQuant's: the product is multiplied by the scale once more.
  bool sqrt_mode = false;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  Status check_ranks(const Inputs& given) const override;
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
  Format codes() const { return codes_; }
  Status check_scale();

  Format codes_ = Format::other;  // of x
  Shape shape_;                   // of its codes, and of y
  int channel_axis_ = 0;  // of y, that the scale lies along; x.rank where it holds one element
};

}  // namespace npu_quant
