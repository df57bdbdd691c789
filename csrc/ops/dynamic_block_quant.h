// npu_dynamic_block_quant: the contract. Fill in the arguments, check(), allocate or take the
// outputs, check_outputs(), run().
#pragma once

#include <string_view>

#include "ops/outputs.h"

namespace npu_quant {

struct DynamicBlockQuant {
  static constexpr const char* kName = "npu_dynamic_block_quant";
  enum { kY, kScale, kOutputs };

  TensorView x;
  double min_scale = 0.0;
  std::string_view round_mode = "rint";
  DTypeRequest dst_type;
  int64_t row_block_size = 1;
  int64_t col_block_size = 128;
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

 private:
  Status check_attributes() const;
};

}  // namespace npu_quant
