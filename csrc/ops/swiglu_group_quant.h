// npu_swiglu_group_quant: the contract.
#pragma once

#include "ops/split/glu_rows.h"

namespace npu_quant {

struct SwigluGroupQuant final : Op {
  SwigluGroupQuant() : Op("npu_swiglu_group_quant") {}
  enum { kY, kScale, kOrigin };

  TensorView x, weight, group_index, scale;
  DTypeRequest dst_type;
  int64_t quant_mode = 0;  // 0: blocks of 128 with a float32, 1: of 32 with a power of 2
  int64_t block_size = 0;  // that of the mode, or 0
  bool round_scale = false;
  double clamp_limit = -1.0;
  double dst_type_max = 15.0;  // of modes that there are not
  bool output_origin = false;
  DType scale_array = DType::uint8;  // what holds E8M0 bytes; aclTensors have a type for them

  Inputs inputs() final;
  Attributes attributes() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  Status check_ranks(const npu_quant::Inputs& given) const final;
  void plan_outputs() final;
  Status check_attributes() final;
  Status take_rule() final;
  Status check_shapes() final;

  bool is_mx() const { return quant_mode == 1; }
  int64_t block() const;
  Format codes() const;
  Status take_groups(RowGroups& groups) const;
  GluKernel::Args how() const;
};

}  // namespace npu_quant
