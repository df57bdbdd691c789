// npu_grouped_matmul_swiglu_quant and its second version: the contracts.
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
  Status take_groups(RowGroups& groups) const;

  CodeMatrix matrix_;  // of an expert
};

struct GroupedMatmulSwigluQuantV2 final : Op {
  GroupedMatmulSwigluQuantV2() : Op("npu_grouped_matmul_swiglu_quant_v2") {}
  enum { kY, kScale };

  TensorView x, weight, weight_scale, x_scale, group_list;
  TensorView smooth_scale;          // where both are int4
  TensorView weight_assist_matrix;  // of int8 by int4: what makes up for the 8 that x is less
  TensorView bias;                  // absent
  int64_t dequant_mode = 0;         // 0: by columns, 1: by groups along k, 2: MX
  DTypeRequest dequant_dtype;
  int64_t quant_mode = 0;  // 0: a scale for each row, 2: MX
  DTypeRequest quant_dtype;
  int64_t group_list_type = 0;  // 0: ends, 1: counts
  DTypeRequest x_dtype, weight_dtype, weight_scale_dtype, x_scale_dtype;
  DType scale_array = DType::uint8;  // what holds E8M0 bytes; aclTensors have a type for them

  Inputs inputs() final;
  Attributes attributes() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  // By the dtypes of x and weight.
  enum class Form { int8, int8_by_int4, int4, mx };

  Status check_dtypes(const npu_quant::Inputs& given) const final;
  void plan_outputs() final;
  Status check_attributes() final;
  Status take_rule() final;
  Status check_shapes() final;

  Form form() const;
  bool is_mx() const { return form() == Form::mx; }
  bool has_groups() const { return form() == Form::int8_by_int4 && weight_scale.rank == 3; }
  Format codes_of(const TensorView& view) const;
  int64_t k() const { return x.shape.dims[1] * codes_per_element(codes_of(x), x.dtype); }
  int64_t rows() const { return x.shape.dims[0]; }
  int64_t experts() const { return weight.shape.dims[0]; }
  Status check_places() const;
  Status check_modes() const;
  Status check_named() const;
  Status check_scales() const;
  Status take_groups(RowGroups& groups) const;

  CodeMatrix matrix_;  // of an expert
};

}  // namespace npu_quant
