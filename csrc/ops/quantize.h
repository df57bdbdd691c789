// npu_quantize: the contract. Fill in the arguments, check(), allocate or take the output, run().
#pragma once

#include "ops/parameter.h"

namespace npu_quant {

struct Quantize {
  static constexpr const char* kName = "npu_quantize";
  static constexpr Code kOutCode = Code::param_invalid;
  enum { kY, kOutputs };

  TensorView self;
  TensorView scales;
  TensorView zero_points;  // optional
  DTypeRequest dtype;
  int64_t axis = 1;
  bool div_mode = true;
  Numerics numerics = Numerics::reference;

  // The rules about dtypes and ranks, which come before those about attributes.
  Status check_arrays() const;
  // Every rule about the arguments but the output; on success `outputs` says what is computed.
  Status check();
  OutputSpec outputs[kOutputs];

  // Computes into y. Fails before anything is written, or not at all.
  Status run(const TensorView* out) const;

  int64_t bytes() const;  // read and written

 private:
  bool is_per_channel() const;
  Status check_axis();
  Status check_parameter(const char* name, const TensorView& parameter) const;

  int channel_axis_ = 0;
};

}  // namespace npu_quant
