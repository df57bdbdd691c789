// npu_dynamic_quant: the contract. Fill in the arguments, check(), allocate or take the outputs,
// check_outputs(), run().
#pragma once

#include <string_view>

#include "ops/outputs.h"

namespace npu_quant {

struct DynamicQuant {
  static constexpr const char* kName = "npu_dynamic_quant";
  enum { kY, kScale, kOutputs };

  TensorView input;
  TensorView smooth_scales;  // optional
  bool has_group_index = false;
  bool symmetric = true;
  DTypeRequest dst_type;
  std::string_view quant_mode = "pertoken";
  double dst_type_max = 0.0;
  Numerics numerics = Numerics::reference;

  // The rules about dtypes and ranks, which come before those about attributes.
  Status check_arrays() const;
  // Every rule about the arguments but the outputs; on success `outputs` says what is computed.
  Status check();
  OutputSpec outputs[kOutputs];

  // The rules about y and scale, either of which may be absent.
  Status check_outputs(const TensorView* out) const;
  // Computes into them. Fails before anything is written, or not at all.
  Status run(const TensorView* out) const;

  int64_t bytes() const;  // read and written
};

}  // namespace npu_quant
