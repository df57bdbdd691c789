// npu_add_rms_norm, and npu_rms_norm, which adds nothing: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct AddRmsNorm final : Op {
  enum { kY, kRstd, kX };

  // What is normed is x1 + x2, or x1 alone, which has no output x.
  explicit AddRmsNorm(bool adds = true)
      : Op(adds ? "npu_add_rms_norm" : "npu_rms_norm"), adds(adds) {}

  const bool adds;
  TensorView x1, x2, gamma;
  double epsilon = 1e-6;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  const char* name_of_x() const { return adds ? "x1" : "self"; }
  void plan_outputs() override;
  Status check_shapes() override;
};

}  // namespace npu_quant
