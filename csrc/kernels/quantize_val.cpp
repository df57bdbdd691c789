// quantize_val and dequantize_val (docs/numerics.md 7):
//   q = zero_point + rint(x * (1 / scale)), saturated; NaN gives the least code
//   x = scale * (q - zero_point)            the difference in int32
#include "kernels/quantize_val.h"

#include "kernels/affine.h"

namespace npu_quant {
namespace {

template <class X, class Q>
struct Quantize {
  static constexpr bool kReadsMask = false, kWritesMask = false;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    Tile q = X::load(tile.x);
    for (int i = 0; i < 4; ++i)
      q.part[i] = parameters(kZeroPoint, i) + rint(q.part[i] * parameters.reciprocal(i));
    if (!Q::template put_ordinary<Store>(tile.y, q)) Q::template put<Store>(tile.y, q);
  }
};

template <class Q>
struct Dequantize {
  static constexpr bool kReadsMask = false, kWritesMask = false;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    I32 q[4];
    Q::load(tile.x, q);
    Tile x;
    for (int i = 0; i < 4; ++i) {
      // Unsigned, which wraps.
      const auto steps = bit_cast<Vec<uint32_t>>(q[i]) - parameters.zero_point(i);
      x.part[i] = parameters.scale(i) * __builtin_convertvector(bit_cast<I32>(steps), F32);
    }
    Float32Elements<WholeLoads>::put<Store>(tile.y, x);
  }
};

// The parameters of a row, or of every element, with integer zero points.
struct RowParameters {
  F32 scales;
  Vec<uint32_t> zero_points;

  struct Buffer {};
  NPU_QUANT_INLINE F32 scale(int) const { return scales; }
  NPU_QUANT_INLINE Vec<uint32_t> zero_point(int) const { return zero_points; }
  NPU_QUANT_INLINE RowParameters from(int64_t) const { return *this; }
  NPU_QUANT_INLINE RowParameters padded(int64_t, Buffer&) const { return *this; }
};
struct ElementParameters {
  const Unaligned<float>* scales;
  const Unaligned<uint32_t>* zero_points;

  struct Buffer {
    float scales[kTile];
    uint32_t zero_points[kTile];
  };
  NPU_QUANT_INLINE F32 scale(int part) const { return load<F32>(scales + part * kLanes); }
  NPU_QUANT_INLINE Vec<uint32_t> zero_point(int part) const {
    return load<Vec<uint32_t>>(zero_points + part * kLanes);
  }
  NPU_QUANT_INLINE ElementParameters from(int64_t i) const { return {scales + i, zero_points + i}; }
  NPU_QUANT_INLINE ElementParameters padded(int64_t n, Buffer& buffer) const {
    std::memset(&buffer, 0, sizeof buffer);
    std::memcpy(buffer.scales, scales, static_cast<size_t>(n) * 4);
    std::memcpy(buffer.zero_points, zero_points, static_cast<size_t>(n) * 4);
    return {unaligned(buffer.scales), unaligned(buffer.zero_points)};
  }
};

template <class X, class Q>
void quantize(const QuantizeValKernel::Args& args) {
  const ElementwiseArgs rows{args.rows, args.n, args.x, {}, args.q, {}, args.stream};
  map_affine<typename X::Storage, typename Q::Storage>(
      rows, {args.scale, args.inverse, args.zero_point},
      [](const auto& use, const auto& parameters) { use(Quantize<X, Q>{}, parameters); });
}

}  // namespace

template <>
void QuantizeValKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_elements(args.x_dtype, args.x.data, args.stream, [&](auto x) {
    visit_code_elements(args.q_dtype, [&](auto q) { quantize<decltype(x), decltype(q)>(args); });
  });
}

template <>
void DequantizeValKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  const ElementwiseArgs rows{args.rows, args.n, args.q, {}, args.x, {}, args.stream};
  visit_code_elements(args.q_dtype, [&](auto q) {
    using Q = decltype(q);
    using QStorage = typename Q::Storage;
    const bool per_element = args.scale.stride != 0;
    map_rows<QStorage, Unaligned<float>>(
        rows, per_element, [&](int64_t row, int64_t i, int64_t, auto use) {
          const auto* zero_points =
              reinterpret_cast<const Unaligned<uint32_t>*>(args.zero_point.from(row, i).data);
          if (per_element)
            use(Dequantize<Q>{}, ElementParameters{values_at(args.scale, row, i), zero_points});
          else
            use(Dequantize<Q>{}, RowParameters{broadcast(value_at(args.scale, row)),
                                               Vec<uint32_t>{} + zero_points->value});
        });
  });
}

}  // namespace npu_quant
