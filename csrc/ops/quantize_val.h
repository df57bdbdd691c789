// quantize_val and dequantize_val on arrays: the contracts. The parameters are a quantizer's
// (csrc/quantizer/), which has checked them.
#pragma once

#include "ops/outputs.h"
#include "ops/parameter.h"

namespace npu_quant {

// What is quantized with: one scale and zero point, or one of each along an axis of the value.
struct AffineParameters {
  DType storage = DType::other;  // int8, uint8 or int32; other: not known yet
  TensorView scale;              // float32, 1-D, contiguous
  TensorView zero_point;         // int32, the same
  bool per_channel = false;
  int64_t axis = 0;  // may be negative
};

// What the two have in common.
struct AffineOp {
  AffineOp(const char* name, const char* value_name, const AffineParameters& with)
      : kName(name), kValueName(value_name), parameters(with) {}

  const char* const kName;
  const char* const kValueName;

  AffineParameters parameters;
  TensorView value;
  Numerics numerics = Numerics::reference;

 protected:
  Status check_rank_of_value() const;
  Status check_channels();

  int channel_axis_ = 0;
};

struct QuantizeVal : AffineOp {
  enum { kQ, kOutputs };
  using AffineOp::AffineOp;  // the value is float16, bfloat16 or float32

  // The rules about dtypes and ranks, which come before those about attributes.
  Status check_arrays() const;
  // Every rule about the arguments but the output; on success `outputs` says what is computed.
  Status check();
  OutputSpec outputs[kOutputs];

  Status check_outputs(const TensorView* out) const;
  // Fails before anything is written, or not at all.
  Status run(const TensorView* out) const;

  int64_t bytes() const;  // read and written
};

struct DequantizeVal : AffineOp {
  enum { kX, kOutputs };
  using AffineOp::AffineOp;  // the value is of the storage type

  Status check_arrays() const;
  Status check();
  OutputSpec outputs[kOutputs];
  Status check_outputs(const TensorView* out) const;
  Status run(const TensorView* out) const;
  int64_t bytes() const;
};

}  // namespace npu_quant
