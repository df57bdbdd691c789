// npu_anti_quant (docs/numerics.md 9):
//   y = (x + offset) * scale      sqrt_mode: * scale once more
#include "kernels/anti_quant.h"

#include "kernels/elementwise.h"

namespace npu_quant {
namespace {

enum { kScale, kOffset };

template <class OutType>
struct AddThenMultiply {
  using X = Int8;
  using Y = OutType;
  static constexpr int kParameters = 2;
  bool sqrt_mode;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    I32 x[4];
    X::load(tile.x(), x);
    Tile y;
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(kScale, i);
      y.part[i] = (__builtin_convertvector(x[i], F32) + parameters(kOffset, i)) * scale;
      if (sqrt_mode) y.part[i] *= scale;
    }
    Y::put(tile.y(), y, tile.stores);
  }
};

}  // namespace

template <>
void AntiQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  ElementwiseArgs rows = rows_of(args, args.x, args.y);
  rows.parameters[kScale] = args.scale;
  rows.parameters[kOffset] = args.offset;
  if (args.y_dtype == DType::bfloat16)
    map_rows(rows, AddThenMultiply<BFloat16<WholeLoads>>{args.sqrt_mode});
  else
    map_rows(rows, AddThenMultiply<Float16<WholeLoads>>{args.sqrt_mode});
}

}  // namespace npu_quant
