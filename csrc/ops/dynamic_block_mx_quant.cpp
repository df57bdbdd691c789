#include "ops/dynamic_block_mx_quant.h"

namespace npu_quant {

Attributes DynamicBlockMxQuant::attributes() {
  return Attributes::of(required("round_mode", round_mode), optional("dst_type", dst_type),
                        optional("scale_alg", scale_alg), optional("dst_type_max", dst_type_max));
}

void DynamicBlockMxQuant::plan_outputs() {
  const auto scales = [this](const char* scales, int place) {
    return OutputSpec{scales, mxscale_array, mx_scales_of(input.shape, place, block_size)};
  };
  outputs.assign(y_of("y"), scales("scale1", input.rank - 1), scales("scale2", input.rank - 2));
}

Status DynamicBlockMxQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_codes());
  return check_scale_alg();
}

Status DynamicBlockMxQuant::check_greatest() const {
  if (scale_alg != 2 || dst_type_max == 0 || dst_type_max == 6 || dst_type_max == 7)
    return MxQuant::check_greatest();
  return refuse("dst_type_max", to_string(dst_type_max), "available: 0, 6, 7");
}

Status DynamicBlockMxQuant::run(const TensorView* out) const {
  quantize_along(input.rank - 2, out[kY], out[kScale2], &out[kScale1]);
  return {};
}

}  // namespace npu_quant
