// The fake quantizers: the contracts.
#pragma once

#include "ops/contract/op.h"
#include "ops/split/parameter.h"

namespace npu_quant {

// Scale and zero point are two numbers, two arrays of one element, or one of each per channel.
struct FakeQuantize final : Op {
  enum class Form { numbers, arrays, per_channel };
  // aclnn's functions take any float scale, int32 zero points, and an output of any float dtype.
  enum class Rules { torch, aclnn };
  enum { kOutput, kMask };

  // The functions of the family differ in name, form, and whether they return the mask.
  FakeQuantize(const char* name, Form form, bool with_mask, Rules rules = Rules::torch)
      : Op(name), form_(form), with_mask_(with_mask), rules_(rules) {}

  TensorView self;
  double scale_number = 1;  // Form::numbers
  int64_t zero_point_number = 0;
  TensorView scale;  // the other forms
  TensorView zero_point;
  bool has_switch = false;  // whether fake_quant_enabled is an argument
  TensorView fake_quant_enabled;
  int64_t axis = 0;  // Form::per_channel
  int64_t quant_min = 0, quant_max = 0;
  DType output_dtype = DType::other;  // Rules::aclnn: else self's

  Inputs inputs() override;
  Attributes attributes() override;
  // Zero points are judged here, where their values are read.
  Status run(const TensorView* out) const override;

 private:
  // As the kernel takes them.
  struct Parameters {
    Parameter scale, inverse, zero_point;
    bool enabled = true;
  };
  Status check_dtypes(const Inputs& given) const override;
  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;
  const Takes& of_scale() const;
  const Takes& of_zero_point() const;
  bool has_wrong_output_dtype() const;
  DType dtype_of_output() const { return rules_ == Rules::torch ? self.dtype : output_dtype; }
  Status take(Parameters& parameters) const;
  Status take_zero_point(Parameter& taken) const;
  bool goes_beyond_limit() const;
  Status check_zero_points(const Parameter& taken) const;
  bool has_float_zero_point() const;
  void compute(const Parameters& parameters, const TensorView& output,
               const TensorView& mask) const;

  Form form_;
  bool with_mask_;
  Rules rules_;
  int channel_axis_ = 0;
};

// grad * mask.
struct FakeQuantizeBackward final : Op {
  enum { kGradInput };

  using Op::Op;

  TensorView grad, mask;

  Inputs inputs() override;
  Status run(const TensorView* out) const override;

 private:
  void plan_outputs() override;
  Status check_shapes() override;
};

}  // namespace npu_quant
