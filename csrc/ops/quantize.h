// npu_quantize: the contract, and the work that aclnnAscendQuant shares (ops/ascend_quant.h).
#pragma once

#include "core/rounding.h"
#include "ops/contract/op.h"
#include "ops/split/parameter.h"

namespace npu_quant {

struct Quantize : Op {
  enum { kY };

  explicit Quantize(const char* name = "npu_quantize") : Op(name) {}

  TensorView self;
  TensorView scales;
  TensorView zero_points;  // optional
  DTypeRequest dtype{.is_default = false};
  int64_t axis = 1;
  bool div_mode = true;
  bool sqrt_mode = false;  // multiplies by the scale twice: AscendQuant's

  Inputs inputs() final;
  Attributes attributes() override;
  Status run(const TensorView* out) const final;

 protected:
  void plan_outputs() final;
  Format codes() const { return dtype.format; }
  Status check_attributes() override;
  Status check_shapes() override;

  bool is_per_channel() const;
  // One element, or what lies along the channel axis of self.
  Status check_shape(const char* argument, const TensorView& parameter) const;

  int least_rank_ = 0;  // of self and scales
  int channel_axis_ = 0;
  Rounding rounding_ = Rounding::to_even;
};

}  // namespace npu_quant
