// npu_convert_weight_to_int4pack and aclnnConvertWeightToINT4Pack: the contract.
#pragma once

#include "ops/contract/op.h"

namespace npu_quant {

struct ConvertWeightToInt4pack final : Op {
  enum { kY };

  ConvertWeightToInt4pack() : Op("npu_convert_weight_to_int4pack") {}

  TensorView weight;
  int64_t inner_k_tiles = 0;  // without effect
  // aclnn's: the elements of y are the codes, of which two share a byte.
  bool counts_codes = false;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_shapes() override;
  Format codes() const { return codes_; }

  Format codes_ = Format::other;
};

}  // namespace npu_quant
