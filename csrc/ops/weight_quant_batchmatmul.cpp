#include "ops/weight_quant_batchmatmul.h"

#include <algorithm>

#include "ops/split/product_list.h"
#include "ops/split/product_matrices.h"

namespace npu_quant {
namespace {

constexpr int64_t kBlock = 32;  // groups are of a multiple of it, those of float4 of one

}  // namespace

Format WeightQuantBatchmatmul::codes() const {
  return weight.dtype == DType::float32 ? Format::float4_e2m1 : codes_in(weight.dtype);
}

Inputs WeightQuantBatchmatmul::inputs() {
  static constexpr DType kX[] = {DType::float16, DType::bfloat16},
                         kWeights[] = {DType::int8, DType::int32, DType::float32},
                         kBytes[] = {DType::uint8, DType::float8_e8m0fnu},
                         kQuantScales[] = {DType::float32, DType::int64};
  static constexpr Takes of_x = one_of(kX).made_of(DType::float16).ranks(2, kMaxRank),
                         of_weight = one_of(kWeights).ranks(2, 2),
                         of_packed = Takes{}.ranks(2, 2).lists_to(DType::int8),  // an aclTensor's
      of_scale = like(0).ranks(1, 2), of_bytes = one_of(kBytes).ranks(1, 2),
                         of_offset = like(2).ranks(1, 2),
                         of_quant_scale = one_of(kQuantScales).made_of(DType::float32).ranks(1, 2),
                         of_quant_offset = one_of(kFloat32).made_of(DType::float32).ranks(1, 2),
                         of_bias = one_of(kFloat32)
                                       .or_like(0)
                                       .made_of(DType::float32)
                                       .ranks(1, 1, "It holds one element per column.");
  return Inputs::of(required("x", x, of_x),
                    required("weight", weight, weight.is_packed() ? of_packed : of_weight),
                    required("antiquant_scale", antiquant_scale,
                             codes() == Format::float4_e2m1 ? of_bytes : of_scale),
                    optional("antiquant_offset", antiquant_offset, of_offset),
                    optional("quant_scale", quant_scale, of_quant_scale),
                    optional("quant_offset", quant_offset, of_quant_offset),
                    optional("bias", bias, of_bias));
}

Attributes WeightQuantBatchmatmul::attributes() {
  return Attributes::of(required("antiquant_group_size", antiquant_group_size),
                        required("inner_precise", inner_precise),
                        optional("weight_dtype", weight_dtype));
}

void WeightQuantBatchmatmul::plan_outputs() {
  find_code_matrix(name, "weight", weight, codes(), k(), {"x", x},
                   matrix_);  // judged with the shapes
  Shape shape = x.shape;
  shape.dims[x.rank - 1] = matrix_.n;
  // One that is too large is refused with the shapes.
  if (!check_product_size(name, {"x", x}, {"weight", weight}, matrix_.n).ok()) shape = {};
  outputs.assign(OutputSpec{"", quant_scale.present ? DType::int8 : x.dtype, shape});
}

Status WeightQuantBatchmatmul::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_places());
  NPU_QUANT_RETURN_IF_ERROR(check_group_size());
  if (inner_precise != 0 && inner_precise != 1)
    return refuse("inner_precise", inner_precise, "expected 0 or 1, which give the same result");
  const Format asked = weight_dtype.format;
  if (weight_dtype.is_default || asked == codes() || asked == format_of(weight.dtype)) return {};
  return refuse("weight_dtype", weight_dtype.came(), none_or_held({"weight", weight}, codes()));
}

// Arguments that have no meaning here.
Status WeightQuantBatchmatmul::check_places() const {
  if (antiquant_offset.present && codes() == Format::float4_e2m1)
    return fault(name, Fault::attribute, {Argument("antiquant_offset")}, {"is given"},
                 Text{"expected ", Nothing()} + holds({"weight", weight}, codes()));
  if (quant_offset.present && !quant_scale.present)
    return refuse("quant_scale", Nothing(), {"expected an array with ", Argument("quant_offset")});
  return {};
}

Status WeightQuantBatchmatmul::check_group_size() const {
  const int64_t size = antiquant_group_size;
  if (codes() == Format::float4_e2m1) {
    if (size == kBlock) return {};
    return refuse("antiquant_group_size", size, {"expected ", kBlock, " for ", codes()});
  }
  if (size == 0 || (size > 0 && size % kBlock == 0 && size < k())) return {};
  Text allowed = "expected 0 (no groups)";
  if (k() > kBlock)
    allowed +=
        {" or a multiple of ", kBlock, " less than ", k(), ", the length of the last axis of ",
         Argument("x")};
  return refuse("antiquant_group_size", size, allowed);
}

Status WeightQuantBatchmatmul::check_antiquant_scale() const {
  const int64_t n = matrix_.n, size = antiquant_group_size;
  if (size == 0)
    return check_row_of_columns(name, "antiquant_scale", antiquant_scale, {"weight", weight}, n);
  const Shape expected{2, {(k() + size - 1) / size, n}};
  if (antiquant_scale.shape == expected) return {};
  return wrong_shape(name, "antiquant_scale", antiquant_scale,
                     {"expected ", expected, ": a row for each ", size, " rows of ",
                      Argument("weight"), " of shape ", weight.shape});
}

Status WeightQuantBatchmatmul::check_shapes() {
  CodeMatrix matrix;
  NPU_QUANT_RETURN_IF_ERROR(
      find_code_matrix(name, "weight", weight, codes(), k(), {"x", x}, matrix));
  NPU_QUANT_RETURN_IF_ERROR(check_product_size(name, {"x", x}, {"weight", weight}, matrix_.n));
  NPU_QUANT_RETURN_IF_ERROR(check_antiquant_scale());
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "antiquant_offset", antiquant_offset,
                                             "antiquant_scale", antiquant_scale));
  NPU_QUANT_RETURN_IF_ERROR(
      check_row_of_columns(name, "quant_scale", quant_scale, {"weight", weight}, matrix_.n));
  NPU_QUANT_RETURN_IF_ERROR(
      check_row_of_columns(name, "quant_offset", quant_offset, {"weight", weight}, matrix_.n));
  return check_along_columns(name, "bias", bias, {"weight", weight}, matrix_.n, false);
}

// Of the weight's codes.
Status WeightQuantBatchmatmul::take_antiquantization(Parameter& scales, Parameter& offsets) const {
  if (codes() == Format::float4_e2m1) return scales.assign_powers(name, antiquant_scale);
  NPU_QUANT_RETURN_IF_ERROR(
      scales.assign(name, antiquant_scale, antiquant_scale.shape, antiquant_scale.strides));
  if (!antiquant_offset.present) return {};
  return offsets.assign(name, antiquant_offset, antiquant_offset.shape, antiquant_offset.strides);
}

// The scale and the offset of int8 results.
Status WeightQuantBatchmatmul::take_quantization(Parameter& scales, Parameter& offsets) const {
  const TensorView own = scales_in_carriers(quant_scale);
  NPU_QUANT_RETURN_IF_ERROR(scales.assign(name, own, own.shape, own.strides));
  if (quant_offset.present)
    return offsets.assign(name, quant_offset, quant_offset.shape, quant_offset.strides);
  if (quant_scale.dtype != DType::int64) return {};
  return offsets.assign_offsets_in_carriers(name, quant_scale, quant_scale.shape.size());
}

Status WeightQuantBatchmatmul::run(const TensorView* out) const {
  const bool has_groups = antiquant_group_size > 0;
  Parameter scales, offsets, biases, quant_scales, quant_offsets;
  NPU_QUANT_RETURN_IF_ERROR(take_antiquantization(scales, offsets));
  if (bias.present) NPU_QUANT_RETURN_IF_ERROR(biases.assign(name, bias, matrix_.n));
  if (quant_scale.present)
    NPU_QUANT_RETURN_IF_ERROR(take_quantization(quant_scales, quant_offsets));
  ProductKernel::Args args{};
  args.columns = matrix_.n;
  args.depth = k();
  args.x = rows_of(x, format_of(x.dtype));
  args.weight = columns_of(weight, matrix_);
  args.sums = SumForm::chunks;
  args.weight_group = has_groups ? antiquant_group_size : std::max<int64_t>(k(), 1);
  args.weight_scale = per_column(scales, antiquant_scale.shape.size() == 1);
  if (antiquant_offset.present)
    args.weight_offset = per_column(offsets, antiquant_offset.shape.size() == 1);
  if (has_groups)
    for (Strided* of : {&args.weight_scale, &args.weight_offset})
      of->row_stride = matrix_.n * static_cast<int64_t>(sizeof(float));
  if (bias.present) args.bias = per_column(biases);
  if (quant_scale.present)
    args.late_scale = per_column(quant_scales, quant_scale.shape.size() == 1);
  if (quant_offsets.data() != nullptr)
    args.late_offset = per_column(
        quant_offsets, (quant_offset.present ? quant_offset : quant_scale).shape.size() == 1);
  return run_product_list(name, [&](ProductList& list) { list.add(args, x, out[kY]); });
}

}  // namespace npu_quant
