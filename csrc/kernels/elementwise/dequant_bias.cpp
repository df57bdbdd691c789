// npu_dequant_bias (docs/numerics.md 18):
//   y = v, rounded once to float16 or bfloat16        v: what kernels/elementwise/dequant.h says
#include "kernels/elementwise/dequant.h"
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

template <class OutType, Bias kind>
struct DequantBias {
  using Kernel = DequantBiasKernel;
  using X = Int32;
  using Y = OutType;
  static constexpr int kParameters = Kernel::kParameters;
  static constexpr unsigned kOfRow = 1 << Kernel::kActivationScale;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    I32 x[4];
    X::load(tile.x(), x);
    Tile v;
    for (int i = 0; i < 4; ++i)
      v.part[i] =
          dequantized<kind>(x[i], parameters(Kernel::kWeightScale, i),
                            parameters(Kernel::kActivationScale, i), parameters(Kernel::kBias, i));
    Y::put(tile.y(), v, tile.stores);
  }
};

template <class Y>
void dequantize_to(const DequantBiasKernel::Args& args) {
  switch (args.bias) {
    case Bias::none: return map_rows(args.work, DequantBias<Y, Bias::none>{});
    case Bias::integer: return map_rows(args.work, DequantBias<Y, Bias::integer>{});
    case Bias::real: return map_rows(args.work, DequantBias<Y, Bias::real>{});
  }
}

}  // namespace

template <>
void DequantBiasKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  if (args.y_dtype == DType::bfloat16)
    dequantize_to<BFloat16<WholeLoads>>(args);
  else
    dequantize_to<Float16<WholeLoads>>(args);
}

}  // namespace npu_quant
