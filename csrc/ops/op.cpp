#include "ops/op.h"

namespace npu_quant {

Status Op::check_arrays() {
  for (const Input& input : inputs())
    if (input.is_required && !input.view->present) return missing(name, input.name);
  NPU_QUANT_RETURN_IF_ERROR(check_dtypes());
  return check_ranks();
}

Status Op::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  plan_outputs();
  NPU_QUANT_RETURN_IF_ERROR(check_attributes());
  NPU_QUANT_RETURN_IF_ERROR(rule_for(*this, codes(), geometry(), rule));
  return check_shapes();
}

Status Op::check_outputs(const TensorView* out) {
  return npu_quant::check_outputs(name, inputs(), outputs, out);
}

}  // namespace npu_quant
