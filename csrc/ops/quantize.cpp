#include "ops/quantize.h"

#include "core/dispatch.h"
#include "ops/split/elementwise.h"
#include "ops/split/quantize_parameters.h"

namespace npu_quant {
namespace {

constexpr Format kAvailable[] = {Format::int8,        Format::int4,          Format::hifloat8,
                                 Format::float8_e5m2, Format::float8_e4m3fn, Format::uint8,
                                 Format::int32};

bool holds_one(const TensorView& view) { return !view.present || view.shape.size() == 1; }

constexpr const char* kOneOrPerChannel = "It holds one element, or one per channel.";

}  // namespace

Inputs Quantize::inputs() {
  static constexpr DType kZeroPoints[] = {DType::int8,    DType::uint8,    DType::int32,
                                          DType::float16, DType::bfloat16, DType::float32};
  static constexpr auto of_scales = [](int least_rank) {
    return floats().lists_to(DType::float32).ranks(least_rank, kMaxRank, kOneOrPerChannel);
  };
  static constexpr Takes by_rank[2][2] = {{floats().ranks(0, kMaxRank), of_scales(0)},
                                          {floats().ranks(1, kMaxRank), of_scales(1)}};
  static constexpr Takes of_zero_points =
      one_of(kZeroPoints).made_of(DType::int32).ranks(0, kMaxRank, kOneOrPerChannel);
  const Takes(&of)[2] = by_rank[least_rank_];
  return Inputs::of(required("self", self, of[0]), required("scales", scales, of[1]),
                    optional("zero_points", zero_points, of_zero_points));
}

Attributes Quantize::attributes() {
  return Attributes::of(required("dtype", dtype), required("axis", axis),
                        required("div_mode", div_mode));
}

bool Quantize::is_per_channel() const { return !holds_one(scales) || !holds_one(zero_points); }

void Quantize::plan_outputs() { outputs.assign(codes_of("", codes(), self.shape, dtype.array)); }

// With div_mode=False torch_npu takes an axis of -1 and above for the last one.
Status Quantize::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_format_in(name, "dtype", dtype, kAvailable));
  if (!div_mode && axis < -2)
    return refuse("axis", axis, "available with div_mode=False: -1 or -2");
  if (!div_mode && axis > -2) axis = -1;
  if (!is_per_channel()) return {};
  return check_channel_axis(name, axis, self, "self", channel_axis_);
}

Status Quantize::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "self", self, codes(), outputs[kY].dtype));
  if (!holds_one(scales)) NPU_QUANT_RETURN_IF_ERROR(check_shape("scales", scales));
  return holds_one(zero_points) ? Status{} : check_shape("zero_points", zero_points);
}

Status Quantize::check_shape(const char* argument, const TensorView& parameter) const {
  const Shape vector = shape_along(self.shape, channel_axis_, 1);
  const Shape full = shape_along(self.shape, channel_axis_, self.rank);
  if (parameter.shape == vector || (!div_mode && parameter.shape == full)) return {};
  Text allowed = "expected one element";
  if (div_mode || self.rank == 1)
    allowed += {" or ", vector};
  else
    allowed += {", ", vector, " or ", full};
  allowed += {": the length of axis ", axis, " of ", Argument("self")};
  return wrong_shape(name, argument, parameter, allowed);
}

Status Quantize::run(const TensorView* out) const {
  const int64_t channels = is_per_channel() ? self.shape.dims[channel_axis_] : 1;
  QuantizeParameters held;
  NPU_QUANT_RETURN_IF_ERROR(held.scale.assign(name, scales, channels));
  NPU_QUANT_RETURN_IF_ERROR(held.zero_point.assign(name, zero_points, channels));
  if (div_mode) NPU_QUANT_RETURN_IF_ERROR(held.prepare_division(name, codes(), channels));
  int64_t along[kMaxRank] = {};
  if (channels > 1) along[channel_axis_] = sizeof(float);
  const CodeStrides of_codes(out[kY], is_packed(codes()));
  const Elementwise<QuantizeKernel::kParameters> work(
      self.shape, {{self.data, self.strides},
                   {out[kY].data, of_codes.data(), of_codes.item()},
                   {held.of_kernel(QuantizeKernel::kScale), along},
                   {held.of_kernel(QuantizeKernel::kZeroPoint), along},
                   {held.of_kernel(QuantizeKernel::kFactor), along},
                   {held.of_kernel(QuantizeKernel::kOffset), along}});
  work.for_each_part(*this, {&self, &out[kY]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<QuantizeKernel>({.work = part,
                                          .x_dtype = self.dtype,
                                          .codes = codes(),
                                          .divide = held.divide,
                                          .twice = sqrt_mode,
                                          .rounding = rounding_});
  });
  return {};
}

}  // namespace npu_quant
