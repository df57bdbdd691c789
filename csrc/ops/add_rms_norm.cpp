#include "ops/add_rms_norm.h"

#include "ops/split/norm_rows.h"

namespace npu_quant {

Inputs AddRmsNorm::inputs() {
  static constexpr Takes of_x = floats().ranks(1, kMaxRank), of_x2 = like(0).any_rank(),
                         of_gamma = like(0).ranks(1, kMaxRank),
                         of_any_gamma = one_of(kFloat32).or_like(0).ranks(1, kMaxRank);
  if (!adds) return Inputs::of(required("self", x1, of_x), required("gamma", gamma, of_any_gamma));
  return Inputs::of(required("x1", x1, of_x), required("x2", x2, of_x2),
                    required("gamma", gamma, of_gamma));
}

Attributes AddRmsNorm::attributes() { return Attributes::of(required("epsilon", epsilon)); }

void AddRmsNorm::plan_outputs() {
  Shape rows = x1.shape;  // with an axis of one for each of gamma
  for (int i = 1; i <= gamma.rank && i <= rows.rank; ++i) rows.dims[rows.rank - i] = 1;
  const OutputSpec y{"y", x1.dtype, x1.shape}, rstd{"rstd", DType::float32, rows};
  if (adds)
    outputs.assign(y, rstd, OutputSpec{"x", x1.dtype, x1.shape});
  else
    outputs.assign(y, rstd);
}

Status AddRmsNorm::check_shapes() {
  if (adds) NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "x2", x2, "x1", x1));
  return check_trailing_axes(name, "gamma", gamma, name_of_x(), x1);
}

Status AddRmsNorm::run(const TensorView* out) const {
  const TensorView* const absent = &kAbsent;
  return run_norm({.op = *this,
                   .codes = Format::int8,
                   .epsilon = epsilon,
                   .tensors = {&x1, &x2, adds ? &out[kX] : absent, absent, absent, &out[kY],
                               &out[kRstd], absent, absent},
                   .gamma = &gamma,
                   .beta = absent,
                   .quantizers = {}});
}

}  // namespace npu_quant
