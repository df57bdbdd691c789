#include "ops/swiglu.h"

#include "core/cache.h"
#include "core/dispatch.h"
#include "kernels/glu/glu.h"
#include "ops/split/tiles.h"

namespace npu_quant {

Inputs Swiglu::inputs() {
  static constexpr Takes of_self = floats().ranks(1, kMaxRank);
  return Inputs::of(required("self", self, of_self));
}

Attributes Swiglu::attributes() { return Attributes::of(required("dim", dim)); }

void Swiglu::plan_outputs() {
  Shape half = self.shape;
  if (const int i = axis(); i >= 0 && i < self.rank) half.dims[i] /= 2;
  outputs.assign(OutputSpec{"", self.dtype, half});
}

Status Swiglu::check_attributes() {
  if (dim >= -self.rank && dim < self.rank) return {};
  return refuse("dim", dim,
                Text{"expected ", -self.rank, " to ", self.rank - 1} + has_rank({"self", self}));
}

Status Swiglu::check_shapes() {
  if (self.shape.dims[axis()] % 2 == 0) return {};
  return wrong_shape(name, "self", self, {"expected an even length along axis ", dim});
}

Status Swiglu::run(const TensorView* out) const {
  constexpr int64_t kSegment = 1 << 15;  // elements of a row that threads share
  enum { kGate, kFactor, kOut, kTensors };
  const TensorView& y = out[kY];
  char* const second = self.data + y.shape.dims[axis()] * self.strides[axis()];
  Cut cut{.columns = kSegment};
  cut.order_of = kGate;
  const Tiles<kTensors> tiles(y.shape, {self.strides, self.strides, y.strides}, cut);
  char* const data[kTensors] = {self.data, second, y.data};
  GluKernel::Args how{};
  how.dtype = self.dtype;
  how.alpha = 1;
  how.becomes = GluKernel::Becomes::values;
  how.stream = worth_streaming(bytes());
  tiles.for_each_part(data, work_bytes(bytes(), {&self, &y}), [&](const auto& part) {
    GluKernel::Args args = how;
    args.rows = part.rows;
    args.n = part.n;
    args.gate.x = part.at[kGate];
    args.factor.x = part.at[kFactor];
    args.y = part.at[kOut];
    run_on_active_target<GluKernel>(args);
  });
  return {};
}

}  // namespace npu_quant
