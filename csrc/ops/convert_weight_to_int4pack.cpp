#include "ops/convert_weight_to_int4pack.h"

#include "core/dispatch.h"
#include "ops/split/elementwise.h"

namespace npu_quant {

Inputs ConvertWeightToInt4pack::inputs() {
  static constexpr DType kWeights[] = {DType::int32, DType::float32};
  static constexpr Takes of_weight = one_of(kWeights).ranks(2, 3);
  return Inputs::of(required("weight", weight, of_weight));
}

Attributes ConvertWeightToInt4pack::attributes() {
  return Attributes::of(required("inner_k_tiles", inner_k_tiles));
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
  const CodeStrides of_y(out[kY], true);
  const Elementwise<0> work(
      weight.shape, {{weight.data, weight.strides}, {out[kY].data, of_y.data(), of_y.item()}});
  work.for_each_part(*this, {&weight, &out[kY]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<ConvertWeightToInt4packKernel>(
        {.work = part, .of_float4 = codes_ == Format::float4_e2m1});
  });
  return {};
}

}  // namespace npu_quant
