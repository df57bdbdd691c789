// npu_grouped_dynamic_block_quant: the contract.
#pragma once

#include "ops/split/block_quant.h"

namespace npu_quant {

struct GroupedDynamicBlockQuant final : BlockQuant {
  GroupedDynamicBlockQuant();

  TensorView group_list;
  int64_t group_list_type = 0;

  Inputs inputs() override;
  Attributes attributes() override;
  Status check_elements() const override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;

  int64_t rows() const { return x.shape.dims[x.rank - 2]; }
};

}  // namespace npu_quant
