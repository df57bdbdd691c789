// npu_moe_token_permute and npu_moe_token_unpermute, aclnnMoeTokenPermute and Unpermute: the
// contracts.
#pragma once

#include "ops/split/parameter.h"
#include "ops/split/routing.h"

namespace npu_quant {

struct MoeTokenPermute final : Op {
  enum { kPermuted, kIndices };

  MoeTokenPermute() : Op("npu_moe_token_permute") {}

  TensorView tokens, indices;
  int64_t num_out_tokens = 0;
  bool padded_mode = false;

  Inputs inputs() final;
  Attributes attributes() final;
  Status run(const TensorView* out) const final;

 private:
  void plan_outputs() final;
  Status check_attributes() final;
  Status check_shapes() final;
  int64_t rows() const;
};

struct MoeTokenUnpermute final : Op {
  enum { kOut };

  MoeTokenUnpermute() : Op("npu_moe_token_unpermute") {}

  TensorView permuted_tokens, sorted_indices;
  TensorView probs;  // optional
  bool padded_mode = false;
  Integers restore_shape;

  Inputs inputs() final;
  Attributes attributes() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  void plan_outputs() final;
  Status check_attributes() final;
  Status check_shapes() final;
  Shape planned() const;
  Status take_indices(Numbers& rows) const;
};

}  // namespace npu_quant
