// npu_quant_matmul and aclnnQuantMatmulV4, V5: the contract.
#pragma once

#include "ops/contract/op.h"
#include "ops/contract/product.h"

namespace npu_quant {

struct QuantMatmul final : Op {
  enum { kY };

  QuantMatmul() : Op("npu_quant_matmul") {}

  TensorView x1, x2, scale;
  TensorView offset, pertoken_scale, bias;  // optional
  TensorView y_scale;                       // which no form of the operator takes
  DTypeRequest output_dtype, x1_dtype, x2_dtype, pertoken_scale_dtype, scale_dtype;
  // Of aclTensors that count codes of 4 bits: their last two axes have changed places.
  bool x1_transposed = false, x2_transposed = false;
  Integers group_sizes;  // how many rows, columns and codes along k have a scale in common

  Inputs inputs() final;
  Attributes attributes() final;
  Status run(const TensorView* out) const final;

 private:
  class [[gnu::visibility("hidden")]] Work;  // of the kernel's arguments

  // What is added up along k.
  enum class Sums {
    whole,           // products of integers, exactly
    groups,          // those of a group, exactly, times its scales, in float32
    shifted_groups,  // the same of x1 - 8
    blocks,          // products of small floats, in blocks of 32
    mx,              // the same, each block times its powers of two
  };

  Status check_dtypes(const npu_quant::Inputs& given) const final;
  void plan_outputs() final;
  Status check_attributes() final;
  Status check_shapes() final;

  Sums sums() const;
  bool is_by_groups() const { return sums() == Sums::groups || sums() == Sums::shifted_groups; }
  Format values() const { return output_dtype.is_default ? Format::int8 : output_dtype.format; }
  Status misplaced(const char* argument, const TensorView& view, const Text& why) const;
  Status check_output_dtype() const;
  Status check_named(const char* attribute, const DTypeRequest& named, const char* argument,
                     const TensorView& view, std::span<const Format> also = {}) const;
  Status check_codes(const char* attribute, const DTypeRequest& named, const char* argument,
                     const TensorView& view) const;
  Status check_group_sizes() const;
  Status check_places() const;
  Status check_factors();
  Status check_parameters() const;
  Status check_tokens() const;

  bool fits_ = true;   // the product into an array
  CodeMatrix matrix_;  // x2
  Format x1_codes_ = Format::other;
};

}  // namespace npu_quant
