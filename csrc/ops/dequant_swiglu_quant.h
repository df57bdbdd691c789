// npu_dequant_swiglu_quant: the contract.
#pragma once

#include "ops/split/glu_rows.h"

namespace npu_quant {

struct DequantSwigluQuant final : Op {
  DequantSwigluQuant() : Op("npu_dequant_swiglu_quant") {}
  enum { kY, kScale };

  TensorView x, weight_scale, activation_scale, bias, quant_scale, quant_offset, group_index;
  bool activate_left = false;
  int64_t quant_mode = 0;  // 0: by quant_scale and quant_offset, 1: each row by its amax
  DTypeRequest dst_type;
  int64_t round_mode = 0;     // in the order of Rounding
  int64_t activate_dim = -1;  // the axis that is halved
  int64_t swiglu_mode = 0;    // 0: halves, 1: even and odd elements, 2: halves; 1 and 2 clamped
  double clamp_limit = 7.0, glu_alpha = 1.702, glu_bias = 1.0;

  Inputs inputs() final;
  Attributes attributes() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  Status check_dtypes(const npu_quant::Inputs& given) const final;
  void plan_outputs() final;
  Status check_attributes() final;
  Status take_rule() final;
  Status check_shapes() final;

  bool is_dynamic() const { return quant_mode == 1; }
  Format codes() const { return dst_type.is_default ? Format::int8 : dst_type.format; }
  Status check_round_mode() const;
  Status check_glu() const;
  Status check_places() const;
  Status take_groups(RowGroups& groups) const;
};

}  // namespace npu_quant
