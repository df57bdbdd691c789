// npu_quant_scatter, npu_quant_scatter_, aclnnInplaceQuantScatter and V2: the contract.
#pragma once

#include <memory>

#include "ops/contract/op.h"

namespace npu_quant {

struct QuantizeParameters;

struct QuantScatter final : Op {
  enum { kY };
  enum class Into { copy, self };
  enum class Reduction { update };
  static constexpr Word<Reduction> kReductions[] = {{"update", Reduction::update}};

  explicit QuantScatter(Into into)
      : Op(into == Into::copy ? "npu_quant_scatter" : "npu_quant_scatter_"), into_(into) {}

  TensorView self;
  TensorView indices;
  TensorView updates;
  TensorView quant_scales;
  TensorView quant_zero_points;  // optional
  int64_t axis = -2;
  int64_t quant_axis = -1;
  Choice<kReductions> reduce;
  DTypeRequest dst_type;
  RoundMode round_mode;

  Inputs inputs() override;
  Attributes attributes() override;
  Status check_elements() const override;
  // Of Into::self the result is self, whatever is handed over.
  Status check_outputs(const TensorView* out) override;
  Status run(const TensorView* out) const override;

 private:
  struct Slab;

  void plan_outputs() override;
  Status check_attributes() override;
  Status check_axes();
  Status check_codes() const;
  Status check_shapes() override;
  Status check_per_channel(const char* argument, const TensorView& parameter) const;
  Status find_slabs(std::unique_ptr<Slab[]>& slabs) const;
  std::unique_ptr<int64_t[]> find_rows(const Slab* slabs, const TensorView& y) const;
  bool meet(Slab* slabs) const;
  void copy_self(const TensorView& y) const;
  void scatter(const int64_t* rows, bool in_order, const QuantizeParameters& by,
               const TensorView& y) const;

  Format codes() const { return codes_asked_for(dst_type); }
  int64_t channels() const { return updates.shape.dims[updates.rank - 1]; }

  Into into_;
  int place_ = 0;  // of the axis along which updates are placed
};

}  // namespace npu_quant
