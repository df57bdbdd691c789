// npu_moe_finalize_routing, aclnnMoeFinalizeRouting and V2: the contract.
#pragma once

#include "ops/split/parameter.h"
#include "ops/split/routing.h"

namespace npu_quant {

struct MoeFinalizeRouting final : Op {
  enum { kOut };

  MoeFinalizeRouting() : Op("npu_moe_finalize_routing") {}

  TensorView expanded_permuted_rows;
  TensorView skip1, skip2, bias, scales;  // optional
  TensorView expanded_src_to_dst_row;
  TensorView export_for_source_row;  // optional
  int64_t drop_pad_mode = 0;         // 1, 3: slots of experts; 2, 3: a token's slots in a row
  int64_t k = 1;                     // slots of a token, where there are no scales

  Inputs inputs() final;
  Attributes attributes() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  struct Rows;

  void plan_outputs() final;
  Status check_attributes() final;
  Status check_shapes() final;
  Status check_matrix(const char* argument, const TensorView& view, int64_t rows,
                      int64_t columns) const;

  bool has_slots() const { return drop_pad_mode == 1 || drop_pad_mode == 3; }
  int64_t terms() const { return scales.present ? scales.shape.dims[1] : k; }
  Shape planned() const;
  Status take_rows(Rows& rows) const;
};

}  // namespace npu_quant
