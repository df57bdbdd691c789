// npu_dynamic_quant: the contract.
#pragma once

#include "ops/choice.h"
#include "ops/op.h"

namespace npu_quant {

struct DynamicQuant final : Op {
  enum { kY, kScale };
  enum class Mode { pertoken };
  static constexpr Word<Mode> kModes[] = {{"pertoken", Mode::pertoken}};

  DynamicQuant() : Op("npu_dynamic_quant") {}

  TensorView input;
  TensorView smooth_scales;  // optional
  bool has_group_index = false;
  bool symmetric = true;
  DTypeRequest dst_type;
  Choice<kModes> quant_mode;
  double dst_type_max = 0.0;

  Inputs inputs() override;
  Status run(const TensorView* out) const override;

 private:
  Status check_dtypes() const override;
  Status check_ranks() const override;
  Format codes() const override { return dst_type.is_default ? Format::int8 : dst_type.format; }
  void plan_outputs() override;
  Status check_attributes() override;
  Geometry geometry() const override;
  Status check_shapes() override;
};

}  // namespace npu_quant
