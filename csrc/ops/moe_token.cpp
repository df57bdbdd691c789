#include "ops/moe_token.h"

#include <algorithm>

namespace npu_quant {
namespace {

constexpr DType kIndexTypes[] = {DType::int32, DType::int64};

Status check_padded_mode(const char* op, bool padded_mode) {
  if (!padded_mode) return {};
  return wrong_attribute(op, "padded_mode", "True", "available: False");
}

}  // namespace

Inputs MoeTokenPermute::inputs() {
  static constexpr DType kTokens[] = {DType::float16, DType::bfloat16, DType::float32, DType::int8};
  static constexpr Takes
      of_tokens = one_of(kTokens).made_of(DType::float32).lists_to(DType::float16).ranks(2, 2),
      of_indices = one_of(kIndexTypes).made_of(DType::int64).ranks(1, 2);
  return Inputs::of(required("tokens", tokens, of_tokens),
                    required("indices", indices, of_indices));
}

Attributes MoeTokenPermute::attributes() {
  return Attributes::of(optional("num_out_tokens", num_out_tokens),
                        required("padded_mode", padded_mode));
}

// Of the sorted ones: all, the first so many, or all but the last so many.
int64_t MoeTokenPermute::rows() const {
  const int64_t all = indices.shape.size();
  if (num_out_tokens > 0) return std::min(num_out_tokens, all);
  return num_out_tokens < -all ? 0 : all + num_out_tokens;
}

void MoeTokenPermute::plan_outputs() {
  outputs.assign(
      OutputSpec{"permuted_tokens", tokens.dtype, fitting({2, {rows(), tokens.shape.dims[1]}})},
      OutputSpec{"sorted_indices", DType::int32, {1, {indices.shape.size()}}});
}

Status MoeTokenPermute::check_attributes() { return check_padded_mode(name, padded_mode); }

Status MoeTokenPermute::check_shapes() {
  const int64_t count = tokens.shape.dims[0];
  if (indices.shape.dims[0] != count)
    return wrong_shape(name, "indices", indices,
                       {"expected (", count, ",) or (", count, ", K): a row for each row of ",
                        Argument("tokens")});
  if (indices.shape.size() > kMostRows)
    return wrong_shape(name, "indices", indices, {"expected at most ", kMostRows, " elements"});
  return check_fits(name, "tokens", tokens, {2, {rows(), tokens.shape.dims[1]}});
}

Status MoeTokenPermute::run(const TensorView* out) const {
  const TensorView &permuted = out[kPermuted], &sorted = out[kIndices];
  KeyOrder order;
  RowTable to;
  NPU_QUANT_RETURN_IF_ERROR(order.assign(name, indices));
  const std::unique_ptr<int32_t[]> places = allocate_integers<int32_t>(order.count());
  if (places == nullptr) return out_of_memory(name);
  for (int64_t i = 0; i < order.count(); ++i) places[order[i]] = static_cast<int32_t>(i);
  const auto row_of = [&, all = rows()](int64_t i) { return places[i] < all ? places[i] : -1; };
  if (permuted.present)
    NPU_QUANT_RETURN_IF_ERROR(to.assign(name, permuted, 1, order.count(), row_of));
  for (int64_t i = 0; sorted.present && i < order.count(); ++i) put_integer(sorted, i, places[i]);
  if (permuted.present)
    move_rows(*this, tokens, tokens.shape.dims[0], to,
              indices.rank == 2 ? indices.shape.dims[1] : 1);
  return {};
}

Inputs MoeTokenUnpermute::inputs() {
  static constexpr Takes of_tokens = floats().ranks(2, 2),
                         of_indices =
                             one_of(kIndexTypes)
                                 .made_of(DType::int64)
                                 .ranks(1, 1, "It holds a row of permuted_tokens for each term."),
                         of_probs = floats().ranks(2, 2, "It holds a row for each token.");
  return Inputs::of(required("permuted_tokens", permuted_tokens, of_tokens),
                    required("sorted_indices", sorted_indices, of_indices),
                    optional("probs", probs, of_probs));
}

Attributes MoeTokenUnpermute::attributes() {
  return Attributes::of(required("padded_mode", padded_mode),
                        optional("restore_shape", restore_shape));
}

Shape MoeTokenUnpermute::planned() const {
  const int64_t tokens = probs.present ? probs.shape.dims[0] : sorted_indices.shape.dims[0];
  return {2, {tokens, permuted_tokens.shape.dims[1]}};
}

void MoeTokenUnpermute::plan_outputs() {
  outputs.assign(OutputSpec{"", permuted_tokens.dtype, fitting(planned())});
}

Status MoeTokenUnpermute::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_padded_mode(name, padded_mode));
  if (!restore_shape.is_given()) return {};
  return refuse("restore_shape", "given",
                {"expected ", Nothing(), ": ", Argument("padded_mode"), " is False"});
}

Status MoeTokenUnpermute::check_shapes() {
  const int64_t entries = sorted_indices.shape.dims[0];
  if (probs.present && probs.shape.size() != entries)
    return wrong_shape(
        name, "probs", probs,
        {"expected ", entries, " elements: one for each entry of ", Argument("sorted_indices")});
  return check_fits(name, "permuted_tokens", permuted_tokens, planned());
}

Status MoeTokenUnpermute::take_indices(Numbers& rows) const {
  return copy_indices(
      name, "sorted_indices", sorted_indices, 0, INT64_MAX,
      {": a row of ", Argument("permuted_tokens"), ", or for none a number beyond the last row"},
      rows);
}

Status MoeTokenUnpermute::check_elements() const {
  Numbers rows;
  return take_indices(rows);
}

Status MoeTokenUnpermute::run(const TensorView* out) const {
  Numbers rows;
  RowTable of_tokens;
  Parameter weights;
  const int64_t entries = sorted_indices.shape.dims[0], all = permuted_tokens.shape.dims[0];
  NPU_QUANT_RETURN_IF_ERROR(take_indices(rows));
  NPU_QUANT_RETURN_IF_ERROR(of_tokens.assign(
      name, permuted_tokens, 1, entries, [&](int64_t i) { return rows[i] < all ? rows[i] : -1; }));
  if (!probs.present) {
    gather_rows(*this, permuted_tokens, of_tokens, out[kOut]);
    return {};
  }
  NPU_QUANT_RETURN_IF_ERROR(weights.assign(name, probs, probs.shape, probs.strides));
  WeighedSums{.x = permuted_tokens,
              .y = out[kOut],
              .of_x = of_tokens,
              .terms = probs.shape.dims[1],
              .weights = weights.data(),
              .leaves_out_none = true}
      .run(*this);
  return {};
}

}  // namespace npu_quant
