// npu_dynamic_mx_quant: the contract.
#pragma once

#include "kernels/dynamic_mx_quant.h"
#include "ops/choice.h"
#include "ops/op.h"

namespace npu_quant {

struct DynamicMxQuant final : Op {
  enum { kY, kMxScale };
  static constexpr Word<MxRounding> kRoundModes[] = {
      {"rint", MxRounding::rint}, {"round", MxRounding::round}, {"floor", MxRounding::floor}};

  DynamicMxQuant() : Op("npu_dynamic_mx_quant") {}

  TensorView input;
  int64_t axis = -1;
  Choice<kRoundModes> round_mode;
  DTypeRequest dst_type;
  int64_t block_size = 32;
  int64_t scale_alg = 0;
  double dst_type_max = 0.0;
  double max_low_bound = 0.0;
  DType mxscale_array = DType::uint8;  // what holds E8M0 bytes; aclTensors have a type for them

  Inputs inputs() override;
  Status run(const TensorView* out) const override;

 private:
  Status check_dtypes() const override;
  Status check_ranks() const override;
  void plan_outputs() override;
  Status check_attributes() override;
  Format codes() const override;
  Geometry geometry() const override { return {.greatest = dst_type_max}; }
  Status check_shapes() override;
  Status check_scale_alg() const;
  MxRule mx_rule() const;

  int place_ = 0;  // of the axis
};

}  // namespace npu_quant
