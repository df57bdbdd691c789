#include "ops/op.h"

namespace npu_quant {

Status Op::check_arrays() {
  bytes_ = 0;
  for (const Input& input : inputs())
    if (input.view->present)
      bytes_ += input.view->bytes();
    else if (input.is_required)
      return missing(name, input.name);
  NPU_QUANT_RETURN_IF_ERROR(check_dtypes());
  return check_ranks();
}

Status Op::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  plan_outputs();
  for (const OutputSpec& output : outputs) bytes_ += output.shape.size() * size_of(output.dtype);
  NPU_QUANT_RETURN_IF_ERROR(check_attributes());
  NPU_QUANT_RETURN_IF_ERROR(rule_for(*this, codes(), geometry(), rule));
  return check_shapes();
}

Status Op::check_outputs(const TensorView* out) {
  return npu_quant::check_outputs(name, inputs(), outputs, out);
}

}  // namespace npu_quant
