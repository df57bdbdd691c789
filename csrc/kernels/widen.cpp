#include "kernels/widen.h"

#include "kernels/elementwise.h"

namespace npu_quant {
namespace {

// y = x, from any element type to float32
template <class From>
struct Widen {
  static constexpr bool kReadsMask = false, kWritesMask = false;

  template <class Store, class Piece>
  NPU_QUANT_INLINE void map(const PerRow<0>&, const Piece& tile) const {
    Tile v;
    if constexpr (From::kIsInteger) {
      I32 code[4];
      From::load(tile.x, code);
      for (int i = 0; i < 4; ++i) v.part[i] = __builtin_convertvector(code[i], F32);
    } else {
      v = From::load(tile.x);
    }
    Float32Elements<WholeLoads>::put<Store>(tile.y, v);
  }
};

template <class Use>
NPU_QUANT_INLINE void visit(DType dtype, Use use) {
  switch (dtype) {
    case DType::float16: return use(Float16Elements{});
    case DType::bfloat16: return use(BFloat16Elements{});
    case DType::int8: return use(Int8Elements{});
    case DType::uint8: return use(Uint8Elements{});
    case DType::int32: return use(Int32Elements{});
    default: return use(Float32Elements<WholeLoads>{});
  }
}

}  // namespace

template <>
void WidenKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit(args.dtype, [&](auto from) {
    using From = decltype(from);
    const ElementwiseArgs rows{1,
                               args.count,
                               {const_cast<char*>(args.from), 0, args.stride},
                               {},
                               {args.to, 0, sizeof(float)},
                               {},
                               false};
    map_rows<typename From::Storage, Unaligned<float>>(
        rows, false, [](int64_t, int64_t, int64_t, auto use) { use(Widen<From>{}, PerRow<0>{}); });
  });
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
    if (args.of_magnitudes) v = bit_cast<F32>(bit_cast<I32>(v) & 0x7fffffff);
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
