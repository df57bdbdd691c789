// quantize_val and dequantize_val (docs/numerics.md 7):
//   q = zero_point + rint(x * (1 / scale)), saturated; NaN gives the least code
//   x = scale * (q - zero_point)            the difference in int32
#include "kernels/quantize_val.h"

#include "kernels/elementwise.h"

namespace npu_quant {
namespace {

template <class InType, class Code>
struct Quantize {
  using X = InType;
  using Y = Code;
  enum { kInverse, kZeroPoint, kParameters };

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile q = X::load(tile.x());
    for (int i = 0; i < 4; ++i)
      q.part[i] = parameters(kZeroPoint, i) + rint(q.part[i] * parameters(kInverse, i));
    if (!Y::put_ordinary(tile.y(), q, tile.stores)) Y::put(tile.y(), q, tile.stores);
  }
};

// The zero points are int32, which come as any four bytes.
template <class Code>
struct Dequantize {
  using X = Code;
  using Y = Float32<WholeLoads>;
  enum { kScale, kZeroPoint, kParameters };

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    using U32 = Vec<uint32_t>;
    I32 q[4];
    X::load(tile.x(), q);
    Tile x;
    for (int i = 0; i < 4; ++i) {
      const U32 steps = bit_cast<U32>(q[i]) - bit_cast<U32>(parameters(kZeroPoint, i));  // wraps
      x.part[i] = parameters(kScale, i) * __builtin_convertvector(bit_cast<I32>(steps), F32);
    }
    Y::put(tile.y(), x, tile.stores);
  }
};

}  // namespace

template <>
void QuantizeValKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  ElementwiseArgs rows = rows_of(args, args.x, args.q);
  rows.parameters[0] = args.inverse;
  rows.parameters[1] = args.zero_point;
  visit_float(args.x_dtype, args.stream, [&](auto x) {
    visit_plain_integer(args.q_format,
                        [&](auto q) { map_rows(rows, Quantize<decltype(x), decltype(q)>{}); });
  });
}

template <>
void DequantizeValKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  ElementwiseArgs rows = rows_of(args, args.q, args.x);
  rows.parameters[0] = args.scale;
  rows.parameters[1] = args.zero_point;
  visit_plain_integer(args.q_format, [&](auto q) { map_rows(rows, Dequantize<decltype(q)>{}); });
}

}  // namespace npu_quant
