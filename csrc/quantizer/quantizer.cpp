#include "quantizer/quantizer.h"

namespace npu_quant {

Status Quantizer::quantize(const TensorView& x, const TensorView& q) const {
  QuantizeVal op = quantize_op();
  op.value = x;
  NPU_QUANT_RETURN_IF_ERROR(op.check());
  NPU_QUANT_RETURN_IF_ERROR(op.check_outputs(&q));
  return op.run(&q);
}

Status Quantizer::dequantize(const TensorView& q, const TensorView& x) const {
  DequantizeVal op = dequantize_op();
  op.value = q;
  NPU_QUANT_RETURN_IF_ERROR(op.check());
  NPU_QUANT_RETURN_IF_ERROR(op.check_outputs(&x));
  return op.run(&x);
}

}  // namespace npu_quant
