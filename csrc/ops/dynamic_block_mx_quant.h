// npu_dynamic_block_mx_quant: the contract.
#pragma once

#include "ops/split/mx_quant.h"

namespace npu_quant {

struct DynamicBlockMxQuant final : MxQuant {
  enum { kY, kScale1, kScale2 };

  DynamicBlockMxQuant() : MxQuant("npu_dynamic_block_mx_quant") {}

  static constexpr Takes kInput = floats().ranks(2, 3);

  Inputs inputs() override { return Inputs::of(required("input", input, kInput)); }
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  int64_t other_scale_alg() const override { return codes() == Format::float4_e2m1 ? 2 : 0; }
  Status check_greatest() const override;
};

}  // namespace npu_quant
