// npu_grouped_matmul_swiglu_quant: the contract.
#pragma once

#include "ops/contract/op.h"
#include "ops/contract/product.h"
#include "ops/split/row_groups.h"

namespace npu_quant {

struct GroupedMatmulSwigluQuant final : Op {
  GroupedMatmulSwigluQuant() : Op("npu_grouped_matmul_swiglu_quant") {}
  enum { kY, kScale, kOffset };

  TensorView x, weight, group_list, weight_scale, x_scale;
  TensorView bias;    // of a weight of int4: what makes up for the 8 that x is less
  TensorView offset;  // absent

  Inputs inputs() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  Status check_dtypes(const npu_quant::Inputs& given) const final;
  void plan_outputs() final;
  Status check_attributes() final;
  Status take_rule() final;
  Status check_shapes() final;

  bool is_int4() const { return weight.dtype != DType::int8; }
  int64_t rows() const { return x.shape.dims[0]; }
  int64_t experts() const { return weight.shape.dims[0]; }
  Status check_weight_scale() const;
  Status take_groups(RowGroups& groups) const;

  CodeMatrix matrix_;  // of an expert
};

}  // namespace npu_quant
