// npu_add_rms_norm_quant and aclnnAddRmsNormQuantV2: the contract. Fill in the arguments, check(),
// allocate or take the outputs, check_outputs(), run().
#pragma once

#include "ops/outputs.h"

namespace npu_quant {

struct AddRmsNormQuant {
  static constexpr const char* kName = "npu_add_rms_norm_quant";
  enum { kY1, kY2, kX, kRmsNorm, kAllOutputs };

  // The norm before quantization is an output of the second version only.
  explicit AddRmsNormQuant(bool with_rms_norm = false)
      : kOutputs(with_rms_norm ? kAllOutputs : kRmsNorm) {}

  const int kOutputs;
  TensorView x1, x2, gamma;
  TensorView scales1;
  TensorView zero_points1, beta, scales2, zero_points2;  // optional
  int64_t axis = -1;
  double epsilon = 1e-6;
  bool div_mode = true;
  DTypeRequest dst_type;
  Numerics numerics = Numerics::reference;

  // The rules about dtypes and ranks, which come before those about attributes.
  Status check_arrays() const;
  // Every rule about the arguments but the outputs; on success `outputs` says what is computed.
  Status check();
  OutputSpec outputs[kAllOutputs];

  // The rules about the outputs, any of which may be absent.
  Status check_outputs(const TensorView* out) const;
  // Computes into them. Fails before anything is written, or not at all.
  Status run(const TensorView* out) const;

  int64_t bytes() const;  // read and written

 private:
  Status check_dtypes() const;
  Status check_shapes() const;
  Status check_quantizer_shape(const char* name, const TensorView& view) const;
};

}  // namespace npu_quant
