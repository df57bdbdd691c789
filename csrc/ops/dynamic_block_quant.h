// npu_dynamic_block_quant: the contract.
#pragma once

#include "ops/choice.h"
#include "ops/op.h"

namespace npu_quant {

struct DynamicBlockQuant final : Op {
  enum { kY, kScale };
  enum class RoundMode { rint, round };
  static constexpr Word<RoundMode> kRoundModes[] = {{"rint", RoundMode::rint},
                                                    {"round", RoundMode::round}};

  DynamicBlockQuant() : Op("npu_dynamic_block_quant") {}

  TensorView x;
  double min_scale = 0.0;
  Choice<kRoundModes> round_mode;
  DTypeRequest dst_type;
  int64_t row_block_size = 1;
  int64_t col_block_size = 128;
  double dst_type_max = 0.0;

  Format format() const { return codes_asked_for(dst_type); }

  Inputs inputs() override;
  Status run(const TensorView* out) const override;

 private:
  Status check_dtypes() const override;
  Status check_ranks() const override;
  void plan_outputs() override;
  Status check_attributes() override;
  Format codes() const override { return format(); }
  Geometry geometry() const override;
  Status check_shapes() override;
};

}  // namespace npu_quant
