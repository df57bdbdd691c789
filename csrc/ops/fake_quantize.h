// The fake quantizers: the contracts. Fill in the arguments, check(), allocate or take the outputs,
// check_outputs(), run().
#pragma once

#include "ops/outputs.h"
#include "ops/parameter.h"

namespace npu_quant {

// Scale and zero point are two numbers, two arrays of one element, or one of each per channel.
struct FakeQuantize {
  enum class Form { numbers, arrays, per_channel };
  // aclnn's functions take any float scale, int32 zero points, and an output of any float dtype.
  enum class Rules { torch, aclnn };
  enum { kOutput, kMask };

  // The functions of the family differ in name, form, and whether they return the mask.
  FakeQuantize(const char* name, Form form, bool with_mask, Rules rules = Rules::torch)
      : kName(name), kOutputs(with_mask ? 2 : 1), form_(form), rules_(rules) {}

  const char* const kName;
  const int kOutputs;

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
  Numerics numerics = Numerics::reference;

  // The rules about dtypes and ranks, which come before those about attributes.
  Status check_arrays() const;
  // Every rule about the arguments but the outputs; on success `outputs` says what is computed.
  Status check();
  OutputSpec outputs[2];

  // The rules about output and mask, either of which may be absent.
  Status check_outputs(const TensorView* out) const;
  // Computes into them; zero points are judged here, where their values are read. Fails before
  // anything is written, or not at all.
  Status run(const TensorView* out) const;

  int64_t bytes() const;  // read and written

 private:
  // As the kernel takes them.
  struct Parameters {
    Parameter scale, inverse, zero_point;
    bool enabled = true;
  };
  Status check_parameter_dtypes() const;
  Status check_ranks() const;
  Status check_attributes();
  Status check_shapes() const;
  Status take(Parameters& parameters) const;
  Status take_zero_point(Parameter& taken) const;
  bool goes_beyond_limit() const;
  Status check_zero_points(const Parameter& taken) const;
  bool has_float_zero_point() const;
  void compute(const Parameters& parameters, const TensorView& output,
               const TensorView& mask) const;

  Form form_;
  Rules rules_;
  int channel_axis_ = 0;
};

// grad * mask.
struct FakeQuantizeBackward {
  enum { kGradInput, kOutputs };

  explicit FakeQuantizeBackward(const char* name) : kName(name) {}

  const char* const kName;

  TensorView grad, mask;
  Numerics numerics = Numerics::reference;

  Status check_arrays() const;
  Status check();
  OutputSpec outputs[kOutputs];
  Status check_outputs(const TensorView* out) const;
  Status run(const TensorView* out) const;
  int64_t bytes() const;
};

}  // namespace npu_quant
