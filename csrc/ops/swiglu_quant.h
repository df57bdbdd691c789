// npu_swiglu_quant: the contract.
#pragma once

#include "ops/split/glu_rows.h"

namespace npu_quant {

struct SwigluQuant final : Op {
  SwigluQuant() : Op("npu_swiglu_quant") {}
  enum { kY, kScale };

  TensorView x, smooth_scales, offsets, group_index;
  bool activate_left = false;
  int64_t quant_mode = 0;       // 0: by smooth_scales and offsets, 1: each row by its amax
  int64_t group_list_type = 0;  // group_index holds 0: the end of each group, 1: its rows
  DTypeRequest dst_type;

  Inputs inputs() final;
  Attributes attributes() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  void plan_outputs() final;
  Status check_attributes() final;
  Status take_rule() final;
  Status check_shapes() final;

  bool is_dynamic() const { return quant_mode == 1; }
  Format codes() const { return dst_type.is_default ? Format::int8 : dst_type.format; }
  Status take_groups(RowGroups& groups) const;
};

}  // namespace npu_quant
