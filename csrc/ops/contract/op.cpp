#include "ops/contract/op.h"

namespace npu_quant {

Status Op::check_arrays() {
  const Inputs given = inputs();
  for (const Input& input : given)
    if (input.is_required && !input.view->present) return missing(name, input.name);
  NPU_QUANT_RETURN_IF_ERROR(check_dtypes(given));
  NPU_QUANT_RETURN_IF_ERROR(check_ranks(given));
  bytes_ = 0;
  for (const Input& input : given) {
    if (!input.view->present) continue;
    NPU_QUANT_RETURN_IF_ERROR(check_size(name, input.name, *input.view));
    bytes_ += input.view->bytes();
  }
  return {};
}

Status Op::check() {
  NPU_QUANT_RETURN_IF_ERROR(check_arrays());
  plan_outputs();
  for (const OutputSpec& output : outputs) bytes_ += output.shape.size() * size_of(output.dtype);
  NPU_QUANT_RETURN_IF_ERROR(check_attributes());
  NPU_QUANT_RETURN_IF_ERROR(take_rule());
  return check_shapes();
}

Status Op::check_outputs(const TensorView* out) {
  return npu_quant::check_outputs(name, inputs(), outputs, out);
}

}  // namespace npu_quant
