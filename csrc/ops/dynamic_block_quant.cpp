#include "ops/dynamic_block_quant.h"

namespace npu_quant {
namespace {

constexpr int64_t kRowBlocks[] = {1, 64, 128, 256, 512};
constexpr double kGreatestCodes[] = {0, 15, 56, 224, 32768};  // of hifloat8

}  // namespace

DynamicBlockQuant::DynamicBlockQuant()
    : BlockQuant("npu_dynamic_block_quant", kCodeFormats, Format::int8, kRowBlocks) {}

Attributes DynamicBlockQuant::attributes() {
  return Attributes::of(required("min_scale", min_scale), required("round_mode", round_mode),
                        optional("dst_type", dst_type), required("row_block_size", row_block_size),
                        required("col_block_size", col_block_size),
                        required("dst_type_max", dst_type_max));
}

void DynamicBlockQuant::plan_outputs() {
  const int64_t rows = x.shape.dims[x.rank - 2];
  plan(row_block_size > 0 ? ceil_div(rows, row_block_size) : rows);
}

Status DynamicBlockQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(BlockQuant::check_attributes());
  if (codes() == Format::hifloat8 && !is_among(dst_type_max, kGreatestCodes))
    return refuse("dst_type_max", to_string(dst_type_max),
                  {"available: ", listed<double>(kGreatestCodes)});
  return check_dst_type_max(name, dst_type_max, codes());
}

Status DynamicBlockQuant::take_rule() {
  NPU_QUANT_RETURN_IF_ERROR(check_device());
  rule = reference_rule(codes(), dst_type_max);
  set_block_forms(numerics, rule);
  bound_scales(min_scale, rule);
  return {};
}

// What the devices lack.
Status DynamicBlockQuant::check_device() const {
  constexpr DType kDTypes[] = {DType::float16, DType::bfloat16};
  constexpr Format kFormats910b[] = {Format::int8};
  constexpr Format kFormats950[] = {Format::int8, Format::hifloat8, Format::float8_e5m2,
                                    Format::float8_e4m3fn};
  const Profile profile = numerics.profile;
  if (profile == Profile::reference) return {};
  if (profile == Profile::ascend950)
    return check_format_of_device(name, profile, codes(), kFormats950);
  NPU_QUANT_RETURN_IF_ERROR(check_dtype_of_device(name, profile, "x", x, kDTypes));
  NPU_QUANT_RETURN_IF_ERROR(check_format_of_device(name, profile, codes(), kFormats910b));
  if (row_block_size != 1)
    return refused_by_device(name, profile, Fault::attribute, "row_block_size", {row_block_size},
                             "1");
  if (col_block_size != 128)
    return refused_by_device(name, profile, Fault::attribute, "col_block_size", {col_block_size},
                             "128");
  if (dst_type_max == 0) return {};
  return refused_by_device(name, profile, Fault::attribute, "dst_type_max",
                           {to_string(dst_type_max)}, "0.0");
}

Status DynamicBlockQuant::run(const TensorView* out) const {
  quantize(nullptr, out);
  return {};
}

}  // namespace npu_quant
