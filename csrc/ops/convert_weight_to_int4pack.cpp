#include "ops/convert_weight_to_int4pack.h"

#include "kernels/convert_weight_to_int4pack.h"
#include "ops/elementwise.h"

namespace npu_quant {

Inputs ConvertWeightToInt4pack::inputs() {
  return Inputs::of(required("weight", weight, DType::int32));
}

Attributes ConvertWeightToInt4pack::attributes() {
  return Attributes::of(required("inner_k_tiles", inner_k_tiles));
}

Status ConvertWeightToInt4pack::check_dtypes() const {
  return check_dtype_in(name, "weight", weight, {DType::int32, DType::float32});
}

Status ConvertWeightToInt4pack::check_ranks() const {
  return check_rank(name, "weight", weight, 2, 3);
}

void ConvertWeightToInt4pack::plan_outputs() {
  codes_ = weight.dtype == DType::float32 ? Format::float4_e2m1 : Format::int4;
  const DType array = counts_codes ? static_cast<DType>(codes_) : weight.dtype;
  outputs.assign(codes_of("", codes_, weight.shape, array));
}

Status ConvertWeightToInt4pack::check_shapes() {
  if (weight.shape.size() == 0)
    return wrong_shape(name, "weight", weight, "expected no axis of length 0");
  return check_packable(name, "weight", weight, codes_, outputs[kY].dtype);
}

Status ConvertWeightToInt4pack::run(const TensorView* out) const {
  enum { kWeight, kCodes, kTensors };
  const CodeStrides of_y(out[kY], true);
  const Elementwise<kTensors> work(weight.shape, kWeight, kCodes, {weight.strides, of_y.data()},
                                   {0, of_y.item()});
  const bool stream = worth_streaming(bytes());
  work.for_each_part({weight.data, out[kY].data}, work_bytes(bytes(), {&weight, &out[kY]}),
                     [&](const auto& part) {
                       run_on_active_target<ConvertWeightToInt4packKernel>(
                           {.rows = part.rows,
                            .n = part.n,
                            .weight = part.at[kWeight],
                            .y = part.at[kCodes],
                            .of_float4 = codes_ == Format::float4_e2m1,
                            .stream = stream});
                     });
  return {};
}

}  // namespace npu_quant
