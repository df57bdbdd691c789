// npu_trans_quant_param and aclnnTransQuantParam: the contract.
#pragma once

#include "ops/contract/op.h"
#include "ops/split/parameter.h"

namespace npu_quant {

struct TransQuantParam final : Op {
  enum { kY };

  TransQuantParam() : Op("npu_trans_quant_param") {}

  TensorView scale;
  TensorView offset;           // optional
  int64_t round_mode = 0;      // 1: the scale is rounded to 19 bits, 0: cut
  DType words = DType::int64;  // aclnn's may be uint64

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
};

}  // namespace npu_quant
