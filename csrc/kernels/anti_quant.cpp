// npu_anti_quant (docs/numerics.md 9):
//   y = (x + offset) * scale      sqrt_mode: * scale once more
#include "kernels/anti_quant.h"

#include "kernels/affine.h"

namespace npu_quant {
namespace {

template <class X, class Y, bool sqrt_mode>
struct AddThenMultiply {
  static constexpr bool kReadsMask = false, kWritesMask = false;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    I32 x[4];
    X::load(tile.x, x);
    Tile y;
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(kScale, i);
      y.part[i] = (__builtin_convertvector(x[i], F32) + parameters(kZeroPoint, i)) * scale;
      if constexpr (sqrt_mode) y.part[i] *= scale;
    }
    Y::template put<Store>(tile.y, y);
  }
};

template <class X, class Y, bool sqrt_mode>
void anti_quantize(const AntiQuantKernel::Args& args) {
  const ElementwiseArgs rows{args.rows, args.n, args.x, {}, args.y, {}, args.stream};
  const Strided& no_inverse = args.scale;  // none is asked for
  map_affine<typename X::Storage, typename Y::Storage>(
      rows, {args.scale, no_inverse, args.offset}, [](const auto& use, const auto& parameters) {
        use(AddThenMultiply<X, Y, sqrt_mode>{}, parameters);
      });
}

template <class X, class Y>
void visit_mode(const AntiQuantKernel::Args& args) {
  if (args.sqrt_mode)
    anti_quantize<X, Y, true>(args);
  else
    anti_quantize<X, Y, false>(args);
}

}  // namespace

template <>
void AntiQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (args.y_dtype == DType::bfloat16)
    visit_mode<Int8Elements, BFloat16Elements>(args);
  else
    visit_mode<Int8Elements, Float16Elements>(args);
}

}  // namespace npu_quant
