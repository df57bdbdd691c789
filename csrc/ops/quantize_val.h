// quantize_val and dequantize_val on arrays: the contracts. The parameters are a quantizer's
// (csrc/quantizer/), which has checked them.
#pragma once

#include "ops/contract/op.h"
#include "ops/split/parameter.h"

namespace npu_quant {

// What is quantized with: one scale and zero point, or one of each along an axis of the value.
struct AffineParameters {
  DType storage = DType::other;  // int8, uint8 or int32; other: not known yet
  TensorView scale;              // float32, 1-D, contiguous
  TensorView zero_point;         // int32, the same
  bool per_channel = false;
  int64_t axis = 0;  // may be negative
};

// What the two have in common: a value, and what it is quantized with.
struct AffineOp : Op {
  AffineOp(const char* name, const char* value_name, const AffineParameters& with)
      : Op(name), value_name(value_name), parameters(with) {}

  const char* const value_name;

  AffineParameters parameters;
  TensorView value;

  Inputs inputs() final {
    takes_ = value_takes();
    return Inputs::of(required(value_name, value, takes_));
  }

 protected:
  virtual Takes value_takes() const = 0;
  Status check_shapes() final;

  int channel_axis_ = 0;

 private:
  Takes takes_;
};

struct QuantizeVal final : AffineOp {
  enum { kQ };
  using AffineOp::AffineOp;  // the value is float16, bfloat16 or float32

  Status run(const TensorView* out) const override;

 private:
  Takes value_takes() const override {
    return floats().ranks(parameters.per_channel ? 1 : 0, kMaxRank);
  }
  void plan_outputs() override;
};

struct DequantizeVal final : AffineOp {
  enum { kX };
  using AffineOp::AffineOp;  // the value is of the storage type

  Status run(const TensorView* out) const override;

 private:
  Takes value_takes() const override;
  void plan_outputs() override;
};

}  // namespace npu_quant
