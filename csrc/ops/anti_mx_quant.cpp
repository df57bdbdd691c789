#include "ops/anti_mx_quant.h"

#include <algorithm>
#include <iterator>

#include "core/dispatch.h"
#include "kernels/mx/anti.h"
#include "ops/split/mx_work.h"

namespace npu_quant {
namespace {

constexpr Format kNumbers[] = {Format::float32, Format::float16, Format::bfloat16};

}  // namespace

Inputs AntiMxQuant::inputs() {
  static constexpr DType kCodes[] = {DType::uint8, DType::float8_e5m2, DType::float8_e4m3fn},
                         kBytes[] = {DType::uint8, DType::float8_e8m0fnu};
  static constexpr Takes of_x = one_of(kCodes).ranks(1, kMaxRank - 1),
                         of_packed = Takes{}.ranks(1, kMaxRank - 1).lists_to(DType::uint8),
                         of_mxscale = one_of(kBytes).any_rank();
  return Inputs::of(required("x", x, x.is_packed() ? of_packed : of_x),  // an aclTensor's
                    required("mxscale", mxscale, of_mxscale));
}

Attributes AntiMxQuant::attributes() {
  return Attributes::of(optional("axis", axis), optional("dst_type", dst_type),
                        optional("src_type", src_type));
}

Format AntiMxQuant::codes() const {
  return is_among(src_type.format, kMxFormats) ? src_type.format : Format::float4_e2m1;
}

Status AntiMxQuant::check_ranks(const Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_ranks(given));
  if (mxscale.rank == x.rank + 1) return {};
  return fault(name, Fault::rank, {Argument("mxscale")}, {"has ", dimensions(mxscale.rank)},
               Text{"expected ", x.rank + 1} + has_rank({"x", x}));
}

void AntiMxQuant::plan_outputs() {
  Shape shape = x.shape;
  shape.dims[x.rank - 1] *= codes_per_element(codes(), x.dtype);
  const Format numbers = dst_type.is_default ? Format::bfloat16 : dst_type.format;
  outputs.assign(OutputSpec{"", plain_dtype(numbers), shape});
}

Status AntiMxQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_channel_axis(name, axis, x, "x", place_));
  NPU_QUANT_RETURN_IF_ERROR(check_format_in(name, "dst_type", dst_type, kNumbers));
  NPU_QUANT_RETURN_IF_ERROR(check_format_in(name, "src_type", src_type, kMxFormats));
  if (find_row(codes())->carrier == x.dtype || format_of(x.dtype) == codes()) return {};
  Text allowed = "expected ";
  if (x.dtype == DType::uint8)
    allowed += {Format::float4_e2m1, " or ", Format::float4_e1m2};
  else
    allowed += {format_of(x.dtype)};
  allowed += {" for ", Argument("x"), " of ", DTypeOf(x)};
  return refuse("src_type", codes(), allowed);
}

Status AntiMxQuant::check_shapes() {
  const Shape expected = mx_scales_of(outputs[kY].shape, place_, kMxCell);
  if (mxscale.shape == expected) return {};
  return wrong_shape(name, "mxscale", mxscale,
                     {"expected ", expected, " for blocks of ", kMxCell, " along axis ", place_});
}

Status AntiMxQuant::run(const TensorView* out) const {
  if (x.shape.size() == 0) return {};
  const MxWork work{.shape = outputs[kY].shape,
                    .place = place_,
                    .block = kMxCell,
                    .format = codes(),
                    .numbers = out[kY],
                    .codes = x,
                    .scales = mxscale,
                    .gives_codes = false};
  const bool stream = worth_streaming(bytes());
  work.for_each_part(work_bytes(bytes(), {&x, &out[kY]}), [&](const MxPart& part) {
    run_on_active_target<AntiMxKernel>({.format = codes(),
                                        .y_dtype = outputs[kY].dtype,
                                        .rows = part.rows,
                                        .n = part.n,
                                        .x = part.codes,
                                        .y = part.numbers,
                                        .scales = part.scales,
                                        .is_in_rows = part.is_in_rows,
                                        .stream = stream});
  });
  return {};
}

}  // namespace npu_quant
