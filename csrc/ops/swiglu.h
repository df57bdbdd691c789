// npu_swiglu: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct Swiglu final : Op {
  enum { kY };

  Swiglu() : Op("npu_swiglu") {}

  TensorView self;
  int64_t dim = -1;

  Inputs inputs() final;
  Attributes attributes() final;
  Status run(const TensorView* out) const final;

 private:
  void plan_outputs() final;
  Status check_attributes() final;
  Status check_shapes() final;

  int axis() const { return static_cast<int>(dim < 0 ? dim + self.rank : dim); }
};

}  // namespace npu_quant
