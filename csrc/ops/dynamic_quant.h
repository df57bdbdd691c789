// npu_dynamic_quant and npu_dynamic_quant_asymmetric: the contract.
#pragma once

#include "ops/contract/choice.h"
#include "ops/contract/op.h"

namespace npu_quant {

struct DynamicQuant : Op {
  enum { kY, kScale, kOffset };
  enum class Mode { pertoken, pertensor, perchannel };
  static constexpr Word<Mode> kModes[] = {{"pertoken", Mode::pertoken},
                                          {"pertensor", Mode::pertensor},
                                          {"perchannel", Mode::perchannel}};

  explicit DynamicQuant(const char* name = "npu_dynamic_quant") : Op(name) {}

  TensorView input;
  TensorView smooth_scales;  // optional
  TensorView group_index;    // optional
  bool symmetric = true;     // else there is an offset
  DTypeRequest dst_type;
  Choice<kModes> quant_mode;
  double dst_type_max = 0.0;

  bool has_profiles() const final { return true; }
  Inputs inputs() final;
  Attributes attributes() final;
  Status check_elements() const final;
  Status run(const TensorView* out) const final;

 private:
  Format codes() const { return codes_asked_for(dst_type); }
  void plan_outputs() final;
  Status check_attributes() final;
  Status take_rule() final;
  Status check_shapes() final;

  Status check_groups() const;
  Status check_device() const;
};

struct DynamicQuantAsymmetric final : DynamicQuant {
  DynamicQuantAsymmetric() : DynamicQuant("npu_dynamic_quant_asymmetric") { symmetric = false; }
};

}  // namespace npu_quant
