// npu_weight_quant_batchmatmul and aclnnWeightQuantBatchMatmulV2, V3: the contract.
#pragma once

#include "ops/contract/op.h"
#include "ops/contract/product.h"
#include "ops/split/parameter.h"

namespace npu_quant {

struct WeightQuantBatchmatmul final : Op {
  enum { kY };

  WeightQuantBatchmatmul() : Op("npu_weight_quant_batchmatmul") {}

  TensorView x;
  TensorView weight;
  TensorView antiquant_scale;
  TensorView antiquant_offset;  // optional
  TensorView quant_scale;       // optional
  TensorView quant_offset;      // optional
  TensorView bias;              // optional
  int64_t antiquant_group_size = 0;
  int64_t inner_precise = 0;  // without effect
  DTypeRequest weight_dtype;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
  Status check_places() const;
  Status check_group_size() const;
  Status check_antiquant_scale() const;
  Status take_antiquantization(Parameter& scales, Parameter& offsets) const;
  Status take_quantization(Parameter& scales, Parameter& offsets) const;
  Format codes() const;  // of weight
  int64_t k() const { return x.shape.dims[x.rank - 1]; }

  CodeMatrix matrix_;
};

}  // namespace npu_quant
