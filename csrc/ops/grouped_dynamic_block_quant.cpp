#include "ops/grouped_dynamic_block_quant.h"

namespace npu_quant {
namespace {

constexpr Format kFormatsInGroups[] = {Format::hifloat8, Format::float8_e5m2,
                                       Format::float8_e4m3fn};
constexpr int64_t kRowBlocksInGroups[] = {1, 128, 256, 512};

}  // namespace

GroupedDynamicBlockQuant::GroupedDynamicBlockQuant()
    : BlockQuant("npu_grouped_dynamic_block_quant", kFormatsInGroups, Format::float8_e5m2,
                 kRowBlocksInGroups) {}

Inputs GroupedDynamicBlockQuant::inputs() {
  return Inputs::of(required("x", x, kMatrices), required("group_list", group_list, kGroups));
}

Attributes GroupedDynamicBlockQuant::attributes() {
  return Attributes::of(required("min_scale", min_scale), required("round_mode", round_mode),
                        optional("dst_type", dst_type), required("row_block_size", row_block_size),
                        required("col_block_size", col_block_size),
                        required("group_list_type", group_list_type),
                        required("dst_type_max", dst_type_max));
}

void GroupedDynamicBlockQuant::plan_outputs() {
  const int64_t whole = row_block_size > 0 ? rows() / row_block_size : 0;
  plan(whole + group_list.shape.dims[0]);
}

Status GroupedDynamicBlockQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(BlockQuant::check_attributes());
  if (group_list_type != 0)
    return refuse("group_list_type", group_list_type,
                  {"available: 0 (", Argument("group_list"), " holds the end of each group)"});
  return check_dst_type_max(name, dst_type_max, codes());
}

Status GroupedDynamicBlockQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(BlockQuant::check_shapes());
  return check_group_count(name, "group_list", group_list);
}

Status GroupedDynamicBlockQuant::check_elements() const {
  return RowGroups().assign(name, "group_list", group_list, "x", rows());
}

Status GroupedDynamicBlockQuant::run(const TensorView* out) const {
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(groups.assign(name, "group_list", group_list, "x", rows()));
  quantize(&groups, out);
  return {};
}

}  // namespace npu_quant
