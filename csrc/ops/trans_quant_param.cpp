#include "ops/trans_quant_param.h"

#include "core/dispatch.h"
#include "ops/split/elementwise.h"

namespace npu_quant {

Inputs TransQuantParam::inputs() {
  static constexpr Takes kParameters =
      one_of(kFloat32)
          .made_of(DType::float32)
          .ranks(1, 2, "It holds one element, or one per channel.");
  return Inputs::of(required("scale", scale, kParameters), optional("offset", offset, kParameters));
}

Attributes TransQuantParam::attributes() {
  return Attributes::of(optional("round_mode", round_mode));
}

// One scale goes with as many offsets as there are.
void TransQuantParam::plan_outputs() {
  const bool spreads = scale.rank == 1 && scale.shape.size() == 1 && offset.present;
  outputs.assign(OutputSpec{"", words, spreads && offset.rank == 1 ? offset.shape : scale.shape});
}

Status TransQuantParam::check_attributes() {
  if (round_mode == 0 || round_mode == 1) return {};
  return refuse("round_mode", round_mode, "expected 0 or 1");
}

Status TransQuantParam::check_shapes() {
  const int64_t count = outputs[kY].shape.size();
  const int64_t given = offset.present ? offset.shape.size() : 1;
  if (given == 1 || given == count) return {};
  Text allowed = "expected one element";
  if (count != 1) allowed += {", or ", count, " elements, as many as ", Argument("scale"), " has"};
  return wrong_shape(name, "offset", offset, allowed);
}

Status TransQuantParam::run(const TensorView* out) const {
  const Shape& shape = outputs[kY].shape;
  // As many as scale has, in the order of its elements, whatever their own shape.
  Parameter offsets;
  NPU_QUANT_RETURN_IF_ERROR(offsets.assign(name, offset, offset.shape, offset.strides));
  int64_t of_scale[kMaxRank] = {}, of_offsets[kMaxRank] = {};
  for (int64_t axis = shape.rank - 1, next = sizeof(float); axis >= 0; next *= shape.dims[axis--]) {
    if (scale.shape == shape) of_scale[axis] = scale.strides[axis];
    if (offset.present && offset.shape.size() > 1) of_offsets[axis] = next;
  }
  using Work = Elementwise<TransQuantParamKernel::kParameters>;
  const Work work(
      shape,
      {{scale.data, of_scale}, {out[kY].data, out[kY].strides}, {offsets.data(), of_offsets}},
      Work::kFirst);
  work.for_each_part(*this, {&scale, &out[kY]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<TransQuantParamKernel>({.work = part, .rounds = round_mode == 1});
  });
  return {};
}

}  // namespace npu_quant
