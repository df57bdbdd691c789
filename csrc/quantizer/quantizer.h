// PyTorch's model of a quantizer (aten/src/ATen/core/QuantizerBase.h): a scheme and a type of
// codes, and in the subclasses the parameters.
#pragma once

#include "ops/quantize_val.h"
#include "quantizer/qscheme.h"
#include "quantizer/scalar_type.h"

namespace npu_quant {

class Quantizer {
 public:
  virtual ~Quantizer() = default;
  Quantizer(const Quantizer&) = delete;
  Quantizer& operator=(const Quantizer&) = delete;

  virtual QScheme qscheme() const = 0;
  ScalarType scalar_type() const { return scalar_type_; }

  // Whether scheme, type and parameters are the same.
  virtual bool equalTo(const Quantizer& other) const = 0;

  // Codes of x, which is float16, bfloat16 or float32, in q of the storage type and x's shape; and
  // float32 values of codes.
  Status quantize(const TensorView& x, const TensorView& q) const;
  Status dequantize(const TensorView& q, const TensorView& x) const;

  // What the two run, ready but for the arrays; their parameters are this quantizer's.
  virtual QuantizeVal quantize_op() const = 0;
  virtual DequantizeVal dequantize_op() const = 0;

 protected:
  explicit Quantizer(ScalarType scalar_type) : scalar_type_(scalar_type) {}

 private:
  const ScalarType scalar_type_;
};

}  // namespace npu_quant
