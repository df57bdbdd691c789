// npu_quantize and aclnnAscendQuant: the contract. Fill in the arguments, check(), allocate or take
// the output, check_outputs(), run().
#pragma once

#include <string_view>

#include "kernels/quantize.h"
#include "ops/outputs.h"
#include "ops/parameter.h"

namespace npu_quant {

struct Quantize {
  // aclnnAscendQuant multiplies, to int8, along the last axis, V3 along one of the last two; their
  // parameters go together in dtype and shape.
  enum class Rules { npu_quantize, ascend_quant, ascend_quant_v3 };

  explicit Quantize(const char* name = "npu_quantize", Rules rules = Rules::npu_quantize)
      : kName(name), div_mode(rules == Rules::npu_quantize), rules_(rules) {}

  const char* const kName;
  enum { kY, kOutputs };

  TensorView self;
  TensorView scales;
  TensorView zero_points;  // optional
  DTypeRequest dtype;
  int64_t axis = 1;
  bool div_mode;
  std::string_view round_mode = "round";  // or floor, ceil, trunc: not npu_quantize
  bool sqrt_mode = false;                 // multiplies by the scale twice: not npu_quantize
  Numerics numerics = Numerics::reference;

  // The rules about dtypes and ranks, which come before those about attributes.
  Status check_arrays() const;
  // Every rule about the arguments but the output; on success `outputs` says what is computed.
  Status check();
  OutputSpec outputs[kOutputs];

  // The rules about y.
  Status check_outputs(const TensorView* out) const;
  // Computes into it. Fails before anything is written, or not at all.
  Status run(const TensorView* out) const;

  int64_t bytes() const;  // read and written

 private:
  bool is_per_channel() const;
  Status check_dtypes() const;
  Status check_matching_dtypes() const;
  Status check_dst_dtype() const;
  Status check_round_mode();
  Status check_axis();
  Status check_one_of_last_two_axes();
  Status check_last_axis_parameters() const;
  Status check_parameter(const char* name, const TensorView& parameter) const;

  Rules rules_;
  int channel_axis_ = 0;
  Rounding rounding_ = Rounding::to_even;
};

}  // namespace npu_quant
