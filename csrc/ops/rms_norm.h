// npu_rms_norm_quant, npu_rms_norm_quant_v2, npu_rms_norm_dynamic_quant: the contracts.
#pragma once

#include "ops/split/norm_rows.h"

namespace npu_quant {

// Of a weight of a norm: x's dtype, (n,) or (1, n).
inline constexpr Takes kWeight = like(0).ranks(1, 2);

// What they share: a norm over the last axis, and parameters of its elements.
struct RmsNorm : Op {
  TensorView x, gamma, beta;
  double epsilon = 1e-6;
  DTypeRequest dst_dtype;

 protected:
  explicit RmsNorm(const char* name, const char* x_name = "x") : Op(name), x_name_(x_name) {}

  Format codes() const { return dst_dtype.is_default ? Format::int8 : dst_dtype.format; }
  int64_t columns() const { return x.shape.dims[x.rank - 1]; }
  // The call as it is so far: what is normed, and by what.
  NormCall norm_call() const;

  Status check_attributes() override;
  Status take_rule() override;
  Status check_shapes() override;

  Status check_weight(const char* argument, const TensorView& view) const;

 private:
  const char* const x_name_;
  mutable TensorView gamma_row_, beta_row_;  // without an axis of one before theirs
};

struct RmsNormQuant : RmsNorm {
  explicit RmsNormQuant(const char* name = "npu_rms_norm_quant") : RmsNorm(name) {}

  TensorView scale, offset;
  bool div_mode = true;

  Inputs inputs() override;
  Attributes attributes() override;
  Status run(const TensorView* out) const override;

 protected:
  void plan_outputs() override;
  Status check_shapes() final;

  Status check_parameter(const char* argument, const TensorView& view) const;
};

struct RmsNormQuantV2 final : RmsNormQuant {
  RmsNormQuantV2() : RmsNormQuant("npu_rms_norm_quant_v2") {}
  enum { kY, kRstd };

  Inputs inputs() final;
  Attributes attributes() final;

 private:
  void plan_outputs() final;
};

struct RmsNormDynamicQuant final : RmsNorm {
  RmsNormDynamicQuant() : RmsNorm("npu_rms_norm_dynamic_quant") {}
  enum { kY, kScale };

  TensorView smooth_scale;

  Inputs inputs() final;
  Attributes attributes() final;
  Status run(const TensorView* out) const final;

 private:
  void plan_outputs() final;
  Status check_shapes() final;
};

}  // namespace npu_quant
