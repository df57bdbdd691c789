// npu_moe_init_routing_v2 and aclnnMoeInitRoutingV3: the contract.
#pragma once

#include "ops/contract/op.h"
#include "ops/split/parameter.h"
#include "ops/split/routing.h"

namespace npu_quant {

struct MoeInitRoutingV2 final : Op {
  enum { kX, kRowIdx, kTokens, kScale };
  enum QuantMode { kNone = -1, kStatic = 0, kDynamic = 1, kDynamicInt4 = 13 };
  enum TokensType { kSums, kCounts, kPairs };

  MoeInitRoutingV2() : Op("npu_moe_init_routing_v2") {}

  TensorView x, expert_idx;
  TensorView scale, offset;  // optional
  int64_t active_num = -1, expert_capacity = -1, expert_num = -1;
  int64_t drop_pad_mode = 0;  // 1: each expert has expert_capacity slots
  int64_t expert_tokens_num_type = kSums;
  bool expert_tokens_num_flag = false;
  int64_t quant_mode = kNone;
  Integers active_expert_range = {.count = 0};
  int64_t row_idx_type = 0;  // 1: expanded_row_idx says where sorted rows came from
  DTypeRequest x_dtype;

  Inputs inputs() final;
  Attributes attributes() final;
  Status run(const TensorView* out) const final;

 private:
  struct Slots;
  struct Codes;

  void plan_outputs() final;
  Status check_attributes() final;
  Status check_experts() const;
  Status check_range() const;
  Status check_quantization() const;
  Status take_rule() final;
  Status check_shapes() final;
  Status check_scale() const;

  bool is_dynamic() const { return quant_mode == kDynamic || quant_mode == kDynamicInt4; }
  bool is_dropping() const { return drop_pad_mode == 1; }
  Format codes() const { return quant_mode == kDynamicInt4 ? Format::int4 : Format::int8; }
  int64_t begin() const { return active_expert_range.count == 2 ? active_expert_range.each[0] : 0; }
  int64_t end() const {
    return active_expert_range.count == 2 ? active_expert_range.each[1] : expert_num;
  }
  int64_t slots() const;
  Shape expanded_shape() const;
  bool has_scale_rows() const { return quant_mode == kNone && scale.present; }
  // Each expert has factors of its own: a token's codes are not the same for all.
  bool has_factors_of_experts() const { return is_dynamic() && scale.present && !is_one_factor(); }
  bool is_one_factor() const { return scale.shape.dims[0] == 1; }

  Status find_slots(Slots& slots, const TensorView* out) const;
  void write_rows(const Slots& slots, const TensorView& row_idx) const;
  void write_tokens(const KeyOrder& order, const TensorView& tokens) const;
  Status prepare(Codes& codes) const;
  void write_codes(const Slots& slots, const Codes& codes, const TensorView* out) const;
  void quantize(const Slots& slots, const Codes& codes, int64_t first, int64_t place, int64_t rows,
                char* scratch) const;
};

}  // namespace npu_quant
