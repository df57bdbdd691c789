// What the operators that quantize MX blocks share: an array, their attributes and their work.
#pragma once

#include "kernels/mx/mx.h"
#include "ops/contract/choice.h"
#include "ops/contract/op.h"
#include "ops/split/mx_work.h"

namespace npu_quant {

// The rule of codes up to a greatest number: bytes that are the power's own exponent less that of
// the greatest, or the least by which nothing exceeds it.
MxRule mx_rule(float greatest, bool rounds_up, float least_amax = 0);

struct MxQuant : Op {
  static constexpr Word<Rounding> kRoundModes[] = {
      {"rint", Rounding::to_even}, {"round", Rounding::away_from_zero}, {"floor", Rounding::floor}};

  TensorView input;
  Choice<kRoundModes> round_mode;
  DTypeRequest dst_type;
  DType mxscale_array = DType::uint8;  // what holds E8M0 bytes; aclTensors have a type for them
  int64_t block_size = kMxCell;
  int64_t scale_alg = 0;
  double dst_type_max = 0.0;
  double max_low_bound = 0.0;

 protected:
  explicit MxQuant(const char* name, const char* input_name = "input",
                   Format by_default = Format::float4_e2m1)
      : Op(name), input_name_(input_name), by_default_(by_default) {}

  Format codes() const;
  Status take_rule() final;
  Status check_shapes() override;

  // The checks of attributes, in their order.
  Status check_codes() const;  // round_mode, dst_type
  Status check_scale_alg() const;
  virtual Status check_greatest() const;  // dst_type_max, the last part of it

  OutputSpec y_of(const char* y) const { return codes_of(y, codes(), input.shape, dst_type.array); }

  // Blocks along an axis, or tiles where there are scales of rows; nothing where none is wanted.
  void quantize_along(int place, const TensorView& y, const TensorView& mxscale,
                      const TensorView* row_scales = nullptr,
                      const RowGroups* groups = nullptr) const;

  const char* const input_name_;

 private:
  // The one beside 0, or 0.
  virtual int64_t other_scale_alg() const;
  DynamicMxArgs args_of(const MxPart& part) const;

  const Format by_default_;
};

}  // namespace npu_quant
