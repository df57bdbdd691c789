#include "ops/add_rms_norm_dynamic_quant.h"

#include <cstring>

namespace npu_quant {
namespace {

using Kernel = RmsNormKernel;
constexpr const char* kSmoothScales[] = {"smooth_scale1", "smooth_scale2"};

}  // namespace

Inputs AddRmsNormDynamicQuant::inputs() {
  static constexpr Takes of_x1 = floats().ranks(2, kMaxRank), of_x2 = like(0).any_rank();
  return Inputs::of(
      required("x1", x, of_x1), required("x2", x2, of_x2), required("gamma", gamma, kWeight),
      optional(kSmoothScales[0], smooth_scales[0], kWeight),
      optional(kSmoothScales[1], smooth_scales[1], kWeight), optional("beta", beta, kWeight));
}

Attributes AddRmsNormDynamicQuant::attributes() {
  return Attributes::of(required("epsilon", epsilon), optional("output_mask", output_mask),
                        optional("y_dtype", dst_dtype));
}

bool AddRmsNormDynamicQuant::computes(int branch) const {
  if (output_mask.is_given()) return output_mask.each[branch];
  return branch == 0 || (smooth_scales[0].present && smooth_scales[1].present);
}

void AddRmsNormDynamicQuant::plan_outputs() {
  const auto y = [this](const char* name, int branch) {
    OutputSpec spec = codes_of(name, codes(), x.shape, dst_dtype.array);
    if (!computes(branch)) spec.shape = {};
    return spec;
  };
  const auto scale = [this](const char* name, int branch) {
    return OutputSpec{name, DType::float32, computes(branch) ? rows_of(x.shape) : Shape{}};
  };
  outputs.assign(y("y1", 0), y("y2", 1), OutputSpec{"x_out", x.dtype, x.shape}, scale("scale1", 0),
                 scale("scale2", 1));
}

Status AddRmsNormDynamicQuant::check_attributes() {
  constexpr const char* kMask = "output_mask";
  if (output_mask.is_given() && output_mask.count != 2)
    return fault(name, Fault::attribute, {Argument(kMask)}, {"has length ", output_mask.count},
                 {"expected 2: one bool for y1, one for y2"});
  if (!computes(0) && !computes(1))
    return refuse(kMask, "[False, False]", {"expected True for y1 or y2"});
  for (int branch = 0; branch < 2; ++branch)
    if (smooth_scales[branch].present && !computes(branch))
      return fault(
          name, Fault::attribute, {Argument(kSmoothScales[branch])}, {"is given"},
          {"expected None: y", branch + 1, " is not computed"},
          output_mask.is_given() ? "" : "To compute y2, pass smooth_scale1 too, or output_mask.");
  return check_format_in(name, "y_dtype", dst_dtype, kCodeFormats);
}

Status AddRmsNormDynamicQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "x2", x2, "x1", x));
  NPU_QUANT_RETURN_IF_ERROR(RmsNorm::check_shapes());
  for (int branch = 0; branch < 2; ++branch) {
    const TensorView& smooth = smooth_scales[branch];
    NPU_QUANT_RETURN_IF_ERROR(check_weight(kSmoothScales[branch], smooth));
  }
  return {};
}

Status AddRmsNormDynamicQuant::run(const TensorView* out) const {
  const TensorView smooth[2] = {last_axis_of(smooth_scales[0]), last_axis_of(smooth_scales[1])};
  NormCall call = norm_call();
  call.dynamic = true;
  call.tensors[Kernel::kX2] = &x2;
  call.tensors[Kernel::kX] = &out[kX];
  for (int branch = 0; branch < 2; ++branch) {
    if (!computes(branch)) continue;
    call.tensors[Kernel::kY1 + branch] = &out[kY1 + branch];
    call.tensors[Kernel::kScale1 + branch] = &out[kScale1 + branch];
    call.quantizers[branch].smooth = &smooth[branch];
  }
  NPU_QUANT_RETURN_IF_ERROR(run_norm(call));
  for (int branch = 0; branch < 2; ++branch)
    for (const int which : {kY1 + branch, kScale1 + branch})
      if (!computes(branch) && out[which].present)
        std::memset(out[which].data, 0, size_of(out[which].dtype));
  return {};
}

}  // namespace npu_quant
