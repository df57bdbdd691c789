#include "kernels/elementwise/parameters.h"

#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

// y = x, from a float type or from codes, which are loaded as integers.
template <class From>
struct Widen {
  using X = From;
  using Y = Float32<WholeLoads>;
  static constexpr int kParameters = 0;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters&, const TileAt& tile) const {
    if constexpr (requires { X::load(tile.x()); }) {
      Y::put(tile.y(), X::load(tile.x()), tile.stores);
    } else {
      I32 code[4];
      X::load(tile.x(), code);
      Tile v;
      for (int i = 0; i < 4; ++i) v.part[i] = __builtin_convertvector(code[i], F32);
      Y::put(tile.y(), v, tile.stores);
    }
  }
};

// y = x * factor.
template <class From>
struct WidenProduct {
  using X = From;
  using Y = Float32<WholeLoads>;
  static constexpr int kParameters = 1;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    Tile v = X::load(tile.x());
    for (int i = 0; i < 4; ++i) v.part[i] *= parameters(0, i);
    Y::put(tile.y(), v, tile.stores);
  }
};

}  // namespace

template <>
void WidenKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  ElementwiseArgs rows{};
  rows.rows = 1;
  rows.n = args.count;
  rows.x = {const_cast<char*>(args.from), 0, args.stride};
  rows.y = {args.to, 0, sizeof(float)};
  switch (args.dtype) {
    case DType::float32: return map_rows(rows, Widen<Float32<WholeLoads>>{});
    case DType::float16: return map_rows(rows, Widen<Float16<WholeLoads>>{});
    case DType::bfloat16: return map_rows(rows, Widen<BFloat16<WholeLoads>>{});
    case DType::int8: return map_rows(rows, Widen<Int8>{});
    case DType::uint8: return map_rows(rows, Widen<Uint8>{});
    case DType::int32: return map_rows(rows, Widen<Int32>{});
    case DType::int16:
    case DType::uint16:
    case DType::uint32:
    case DType::int64:
    case DType::uint64:
    case DType::float64:
    case DType::boolean:
    case DType::float8_e5m2:
    case DType::float8_e4m3fn:
    case DType::float8_e8m0fnu:
    case DType::int4:
    case DType::hifloat8:
    case DType::float4_e2m1:
    case DType::float4_e1m2:
    case DType::other: break;
  }
  __builtin_trap();  // the op has checked the dtype
}

template <>
void ProductsKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  ElementwiseArgs rows{};
  rows.rows = args.rows;
  rows.n = args.n;
  rows.x = args.x;
  rows.y = {args.to, args.n * 4, 4};
  rows.parameters[0] = args.factor;
  visit_float_with<WholeLoads>(args.dtype,
                               [&](auto x) { map_rows(rows, WidenProduct<decltype(x)>{}); });
}

template <>
void NarrowKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  const auto value = static_cast<float>(args.value);
  std::memcpy(args.to, &value, sizeof value);
}

template <>
void InvertKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  int64_t i = 0;
  for (; i + kLanes <= args.count; i += kLanes)
    store(args.to + i * 4, 1 / load<F32>(args.values + i * 4));
  for (; i < args.count; ++i) {
    float value;
    std::memcpy(&value, args.values + i * 4, sizeof value);
    value = 1 / value;
    std::memcpy(args.to + i * 4, &value, sizeof value);
  }
}

template <>
void BoundsKernel::run<kTarget>(const Args& args) {
  F32 low = broadcast(__builtin_inff()), high = -low;
  I32 is_nan{};
  const auto include = [&](F32 v) {
    is_nan |= v != v;
    low = min(v, low);
    high = max(v, high);
  };
  int64_t i = 0;
  for (; i + kLanes <= args.count; i += kLanes) include(load<F32>(args.values + i * 4));
  for (; i < args.count; ++i) {
    float value;
    std::memcpy(&value, args.values + i * 4, sizeof value);
    include(broadcast(value));
  }
  *args.least = *args.greatest = __builtin_nanf("");
  if (horizontal_max<int32_t, kVectorBytes>(-is_nan) != 0) return;
  *args.least = -horizontal_max<float, kVectorBytes>(-low);
  *args.greatest = horizontal_max<float, kVectorBytes>(high);
}

}  // namespace npu_quant
