#include "ops/group_quant.h"

#include "core/dispatch.h"
#include "ops/split/elementwise.h"
#include "ops/split/parameter.h"
#include "ops/split/row_groups.h"

namespace npu_quant {

Inputs GroupQuant::inputs() {
  static constexpr DType kEnds[] = {DType::int32, DType::int64};
  static constexpr Takes of_x = floats().ranks(2, 2),
                         of_scale = floats().ranks(2, 2, "It holds a row for each group."),
                         of_groups = one_of(kEnds)
                                         .made_of(DType::int64)
                                         .ranks(1, 1, "It holds the end of each group."),
                         of_offset = like(1).ranks(0, 1, "It holds one element.");
  return Inputs::of(required("x", x, of_x), required("scale", scale, of_scale),
                    required("group_index", group_index, of_groups),
                    optional("offset", offset, of_offset));
}

Attributes GroupQuant::attributes() { return Attributes::of(optional("dst_dtype", dst_dtype)); }

void GroupQuant::plan_outputs() { outputs.assign(codes_of("", codes(), x.shape, dst_dtype.array)); }

Status GroupQuant::check_attributes() {
  static constexpr Format kCodes[] = {Format::int8, Format::int4};
  return check_format_in(name, "dst_dtype", dst_dtype, kCodes);
}

Status GroupQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "x", x, codes(), outputs[kY].dtype));
  NPU_QUANT_RETURN_IF_ERROR(check_group_count(name, "group_index", group_index));
  const Shape expected{2, {group_index.shape.dims[0], x.shape.dims[1]}};
  if (scale.shape != expected)
    return wrong_shape(name, "scale", scale,
                       {"expected ", expected, ": a row for each entry of ",
                        Argument("group_index"), ", a column for each column of ", Argument("x")});
  if (!offset.present || offset.shape.size() == 1) return {};
  return wrong_shape(name, "offset", offset, "expected one element");
}

Status GroupQuant::check_elements() const {
  return RowGroups().assign(name, "group_index", group_index, "x", x.shape.dims[0]);
}

Status GroupQuant::run(const TensorView* out) const {
  RowGroups groups;
  Parameter scales, offsets;
  const int64_t columns = x.shape.dims[1];
  NPU_QUANT_RETURN_IF_ERROR(groups.assign(name, "group_index", group_index, "x", x.shape.dims[0]));
  NPU_QUANT_RETURN_IF_ERROR(scales.assign(name, scale, scale.shape, scale.strides));
  NPU_QUANT_RETURN_IF_ERROR(offsets.assign(name, offset, columns));
  const int64_t of_group[] = {columns * static_cast<int64_t>(sizeof(float)), sizeof(float)},
                of_column[] = {0, columns > 1 ? static_cast<int64_t>(sizeof(float)) : 0};
  const CodeStrides of_codes(out[kY], is_packed(codes()));
  // npu_quantize's product, by the scales of each group; what it would divide by is not read.
  const Elementwise<QuantizeKernel::kParameters> work(
      x.shape,
      {{x.data, x.strides},
       {out[kY].data, of_codes.data(), of_codes.item()},
       {scales.data(), of_group, 0, true},
       {offsets.data(), of_column},
       {offsets.data(), of_column},
       {offsets.data(), of_column}},
      groups);
  work.for_each_part(*this, {&x, &out[kY]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<QuantizeKernel>(
        {.work = part, .x_dtype = x.dtype, .codes = codes(), .divide = false});
  });
  return {};
}

}  // namespace npu_quant
