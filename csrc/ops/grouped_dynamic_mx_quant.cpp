#include "ops/grouped_dynamic_mx_quant.h"

#include "ops/split/row_groups.h"

namespace npu_quant {
namespace {

constexpr int64_t kPair = 2 * kMxCell;  // rows that the bytes of a pair-row are of

}  // namespace

Inputs GroupedDynamicMxQuant::inputs() {
  static constexpr Takes of_x = floats().ranks(2, 2);
  return Inputs::of(required("x", input, of_x), required("group_index", group_index, kGroups));
}

Attributes GroupedDynamicMxQuant::attributes() {
  return Attributes::of(required("round_mode", round_mode), optional("dst_type", dst_type),
                        required("blocksize", block_size), optional("scale_alg", scale_alg),
                        optional("dst_type_max", dst_type_max));
}

void GroupedDynamicMxQuant::plan_outputs() {
  const int64_t *dims = input.shape.dims, groups = group_index.shape.dims[0];
  outputs.assign(y_of("y"), OutputSpec{"mxscale", mxscale_array,
                                       Shape{3, {dims[0] / kPair + groups, dims[1], 2}}});
}

Status GroupedDynamicMxQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_codes());
  if (block_size != kMxCell) return refuse("blocksize", block_size, {"available: ", kMxCell});
  return check_scale_alg();
}

Status GroupedDynamicMxQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(MxQuant::check_shapes());
  return check_group_count(name, "group_index", group_index);
}

Status GroupedDynamicMxQuant::check_elements() const {
  return RowGroups().assign(name, "group_index", group_index, "x", input.shape.dims[0]);
}

Status GroupedDynamicMxQuant::run(const TensorView* out) const {
  if (input.shape.dims[1] == 0 || (!out[kY].present && !out[kMxScale].present)) return {};
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(
      groups.assign(name, "group_index", group_index, "x", input.shape.dims[0]));
  quantize_along(0, out[kY], out[kMxScale], nullptr, &groups);
  return {};
}

}  // namespace npu_quant
