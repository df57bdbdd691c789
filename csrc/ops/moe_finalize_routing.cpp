#include "ops/moe_finalize_routing.h"

namespace npu_quant {

Inputs MoeFinalizeRouting::inputs() {
  static constexpr Takes of_rows = floats().ranks(2, 3), of_skips = like(0).ranks(2, 2),
                         of_bias = like(0).ranks(2, 2, "It holds a row for each expert."),
                         of_scales = floats().ranks(2, 2, "It holds a row for each token."),
                         of_integers = one_of(kInt32).made_of(DType::int32),
                         of_slots = of_integers.ranks(1, 1), of_experts = of_integers.ranks(2, 2);
  return Inputs::of(required("expanded_permuted_rows", expanded_permuted_rows, of_rows),
                    optional("skip1", skip1, of_skips), optional("skip2", skip2, of_skips),
                    optional("bias", bias, of_bias), optional("scales", scales, of_scales),
                    required("expanded_src_to_dst_row", expanded_src_to_dst_row, of_slots),
                    optional("export_for_source_row", export_for_source_row, of_experts));
}

Attributes MoeFinalizeRouting::attributes() {
  return Attributes::of(optional("drop_pad_mode", drop_pad_mode), optional("k", k));
}

// Attributes may still be out of order: then it is of no meaning.
Shape MoeFinalizeRouting::planned() const {
  const int64_t tokens = scales.present ? scales.shape.dims[0]
                         : k > 0        ? expanded_src_to_dst_row.shape.dims[0] / k
                                        : 0;
  return {2, {tokens, expanded_permuted_rows.shape.dims[expanded_permuted_rows.rank - 1]}};
}

void MoeFinalizeRouting::plan_outputs() {
  outputs.assign(OutputSpec{"", expanded_permuted_rows.dtype, fitting(planned())});
}

Status MoeFinalizeRouting::check_attributes() {
  if (drop_pad_mode < 0 || drop_pad_mode > 3)
    return refuse("drop_pad_mode", drop_pad_mode,
                  "expected 0, 1 (slots of experts), 2 (a token's rows one after the other) or 3 "
                  "(both)");
  if (!scales.present && k < 1)
    return refuse("k", k, {"expected 1 or more without ", Argument("scales")});
  if (!bias.present || export_for_source_row.present) return {};
  return fault(name, Fault::attribute, {Argument("export_for_source_row")}, {"is ", Nothing()},
               {"expected an array with ", Argument("bias"), ": it holds the expert of each row"});
}

Status MoeFinalizeRouting::check_matrix(const char* argument, const TensorView& view, int64_t rows,
                                        int64_t columns) const {
  const Shape expected{2, {rows, columns}};
  if (!view.present || view.shape == expected) return {};
  return wrong_shape(name, argument, view, {"expected ", expected});
}

Status MoeFinalizeRouting::check_shapes() {
  const Shape y = planned();
  const int64_t tokens = y.dims[0], columns = y.dims[1];
  const int64_t entries = expanded_src_to_dst_row.shape.dims[0];
  if (expanded_permuted_rows.rank != (has_slots() ? 3 : 2))
    return wrong_shape(name, "expanded_permuted_rows", expanded_permuted_rows,
                       {"expected ", has_slots() ? "3 axes, (experts, slots, H)," : "2 axes",
                        " with ", Argument("drop_pad_mode"), " ", drop_pad_mode});
  NPU_QUANT_RETURN_IF_ERROR(check_matrix("skip1", skip1, tokens, columns));
  NPU_QUANT_RETURN_IF_ERROR(check_matrix("skip2", skip2, tokens, columns));
  if (bias.present)
    NPU_QUANT_RETURN_IF_ERROR(check_matrix("bias", bias, bias.shape.dims[0], columns));
  if (scales.present && scales.shape.size() != entries)
    return wrong_shape(name, "scales", scales,
                       {"expected ", entries, " elements: one for each entry of ",
                        Argument("expanded_src_to_dst_row")});
  if (!scales.present && entries % k != 0)
    return wrong_shape(name, "expanded_src_to_dst_row", expanded_src_to_dst_row,
                       {"expected a multiple of ", Argument("k"), " (", k, ")"});
  NPU_QUANT_RETURN_IF_ERROR(
      check_matrix("export_for_source_row", export_for_source_row, tokens, terms()));
  return check_fits(name, "expanded_permuted_rows", expanded_permuted_rows, y);
}

struct MoeFinalizeRouting::Rows {
  Numbers slots, experts;
};

// Copies the indices, so that nobody changes them, and judges them.
Status MoeFinalizeRouting::take_rows(Rows& rows) const {
  const Shape& of = expanded_permuted_rows.shape;
  const int64_t all = has_slots() ? of.dims[0] * of.dims[1] : of.dims[0];
  Text of_slots{": a row of ", Argument("expanded_permuted_rows")};
  if (has_slots()) of_slots += {", or -1 for none"};
  NPU_QUANT_RETURN_IF_ERROR(copy_indices(name, "expanded_src_to_dst_row", expanded_src_to_dst_row,
                                         has_slots() ? -1 : 0, all - 1, of_slots, rows.slots));
  if (!bias.present) return {};
  return copy_indices(name, "export_for_source_row", export_for_source_row, 0,
                      bias.shape.dims[0] - 1, {": a row of ", Argument("bias")}, rows.experts);
}

Status MoeFinalizeRouting::check_elements() const {
  Rows rows;
  return take_rows(rows);
}

Status MoeFinalizeRouting::run(const TensorView* out) const {
  Rows rows;
  RowTable of_rows, of_bias;
  Parameter weights;
  NPU_QUANT_RETURN_IF_ERROR(take_rows(rows));
  const int64_t entries = expanded_src_to_dst_row.shape.dims[0], terms = this->terms();
  const int64_t tokens = outputs[kOut].shape.dims[0];
  // Of a token's terms: in modes 0 and 1 all first ones come first.
  const auto slot_of = [&](int64_t i) {
    return rows.slots[drop_pad_mode >= 2 ? i : i % terms * tokens + i / terms];
  };
  NPU_QUANT_RETURN_IF_ERROR(
      of_rows.assign(name, expanded_permuted_rows, has_slots() ? 2 : 1, entries, slot_of));
  if (bias.present)
    NPU_QUANT_RETURN_IF_ERROR(
        of_bias.assign(name, bias, 1, entries, [&](int64_t i) { return rows.experts[i]; }));
  if (scales.present)
    NPU_QUANT_RETURN_IF_ERROR(weights.assign(name, scales, scales.shape, scales.strides));
  WeighedSums{.x = expanded_permuted_rows,
              .y = out[kOut],
              .of_x = of_rows,
              .terms = terms,
              .skip1 = &skip1,
              .skip2 = &skip2,
              .bias = &bias,
              .of_bias = bias.present ? &of_bias : nullptr,
              .weights = scales.present ? weights.data() : nullptr}
      .run(*this);
  return {};
}

}  // namespace npu_quant
