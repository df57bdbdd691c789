// npu_anti_quant: the contract. Fill in the arguments, check(), allocate or take the output,
// check_outputs(), run().
#pragma once

#include "ops/outputs.h"
#include "ops/parameter.h"

namespace npu_quant {

struct AntiQuant {
  static constexpr const char* kName = "npu_anti_quant";
  enum { kY, kOutputs };

  TensorView x;
  TensorView scale;
  TensorView offset;  // optional
  DTypeRequest dst_dtype;
  DTypeRequest src_dtype;
  bool sqrt_mode =
      false;  // aclnnAscendAntiQuant's: the product is multiplied by the scale once more
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
  Status check_dtypes() const;
  Status check_ranks() const;
  Status check_attributes() const;
  Status check_scale();

  int channel_axis_ = 0;  // of x, that the scale lies along; x.rank where it holds one element
};

}  // namespace npu_quant
