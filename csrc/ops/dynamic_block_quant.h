// npu_dynamic_block_quant: the contract.
#pragma once

#include "ops/split/block_quant.h"

namespace npu_quant {

struct DynamicBlockQuant final : BlockQuant {
  DynamicBlockQuant();

  Attributes attributes() override;
  Status run(const TensorView* out) const override;
  bool has_profiles() const override { return true; }

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status take_rule() override;

  Status check_device() const;
};

}  // namespace npu_quant
