// quantize_val and dequantize_val (docs/numerics.md 7):
//   q = zero_point + rint(x * (1 / scale)), saturated; NaN gives the least code
//   x = scale * (q - zero_point)            the difference in int32
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

template <class InType, class Code>
struct Quantize {
  using X = InType;
  using Y = Code;
  static constexpr int kParameters = QuantizeValKernel::kParameters;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile q = X::load(tile.x());
    for (int i = 0; i < 4; ++i)
      q.part[i] = parameters(QuantizeValKernel::kZeroPoint, i) +
                  rint(q.part[i] * parameters(QuantizeValKernel::kInverse, i));
    if (!Y::put_ordinary(tile.y(), q, tile.stores)) Y::put(tile.y(), q, tile.stores);
  }
};

// The zero points are int32, which come as any four bytes.
template <class Code>
struct Dequantize {
  using X = Code;
  using Y = Float32<WholeLoads>;
  static constexpr int kParameters = DequantizeValKernel::kParameters;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    using U32 = Vec<uint32_t>;
    I32 q[4];
    X::load(tile.x(), q);
    Tile x;
    for (int i = 0; i < 4; ++i) {
      const U32 steps = bit_cast<U32>(q[i]) -
                        bit_cast<U32>(parameters(DequantizeValKernel::kZeroPoint, i));  // wraps
      x.part[i] = parameters(DequantizeValKernel::kScale, i) *
                  __builtin_convertvector(bit_cast<I32>(steps), F32);
    }
    Y::put(tile.y(), x, tile.stores);
  }
};

}  // namespace

template <>
void QuantizeValKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  visit_float(args.x_dtype, args.work.stream, [&](auto x) {
    visit_plain_integer(args.codes,
                        [&](auto q) { map_rows(args.work, Quantize<decltype(x), decltype(q)>{}); });
  });
}

template <>
void DequantizeValKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  visit_plain_integer(args.codes, [&](auto q) { map_rows(args.work, Dequantize<decltype(q)>{}); });
}

}  // namespace npu_quant
