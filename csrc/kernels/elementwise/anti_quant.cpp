// npu_anti_quant (docs/numerics.md 9):
//   y = (c + offset) * scale      c: the number that x's code stands for; sqrt_mode: * scale once
//   more
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

struct Floats : SmallCode {
  Format format;

  NPU_QUANT_INLINE Tile values(const Storage* x) const {
    Tile v;
    load(format, x, v);
    return v;
  }
};

template <class InType, class OutType>
struct AddThenMultiply {
  using X = InType;
  using Y = OutType;
  static constexpr int kParameters = 2;
  X codes;
  bool sqrt_mode;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile y = codes.values(tile.x());
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(AntiQuantKernel::kScale, i);
      y.part[i] = (y.part[i] + parameters(AntiQuantKernel::kOffset, i)) * scale;
      if (sqrt_mode) y.part[i] *= scale;
    }
    Y::put(tile.y(), y, tile.stores);
  }
};

template <class X>
void map_codes(const AntiQuantKernel::Args& args, X codes) {
  if (args.y_dtype == DType::bfloat16)
    map_rows(args.work, AddThenMultiply<X, BFloat16<WholeLoads>>{codes, args.sqrt_mode});
  else
    map_rows(args.work, AddThenMultiply<X, Float16<WholeLoads>>{codes, args.sqrt_mode});
}

}  // namespace

template <>
void AntiQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  // Packed int4 comes as bytes.
  if (args.codes == Format::int8 || args.codes == Format::int4)
    map_codes(args, Int8{});
  else
    map_codes(args, Floats{{}, args.codes});
}

}  // namespace npu_quant
