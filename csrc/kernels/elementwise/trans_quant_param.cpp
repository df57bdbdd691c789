// npu_trans_quant_param (docs/numerics.md 16):
//   y = f | 1 << 46 | (clamp(rint(offset), -256, 255) & 0x1ff) << 37     NaN in offset counts as 0
//   f = scale's bits without the last 13, or rounded to such, ties to even
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

// Lanes of a and b in turn: the halves of words of 64 bits, from lane `first` on.
template <int first, int... i>
NPU_QUANT_INLINE I32 in_turn(I32 a, I32 b, Indices<i...>) {
  return __builtin_shufflevector(a, b, (first + i / 2 + i % 2 * kLanes)...);
}

struct Words {
  using Storage = Unaligned<int64_t>;

  static NPU_QUANT_INLINE void put(Storage* y, I32 low, I32 high, Stores stores) {
    constexpr typename MakeIndices<kLanes>::type kAll{};
    stores.put(y, in_turn<0>(low, high, kAll));
    stores.put(y + kLanes / 2, in_turn<kLanes / 2>(low, high, kAll));
  }
};

// Unsigned, as what is added may reach the sign, and wraps in what is not taken.
NPU_QUANT_INLINE U32 rounded_to_19_bits(U32 bits) {
  constexpr uint32_t kSign = 0x80000000, kExponent = 0x7f800000, kKept = 0xffffe000;
  const U32 exponent = bits & kExponent;
  const U32 added = exponent == kExponent ? U32{} : 0xfff + (bits >> 13 & 1);
  return exponent == 0 ? bits & kSign : (bits + added) & kKept;
}

struct QuantParam {
  using X = Float32<WholeLoads>;
  using Y = Words;
  static constexpr int kParameters = 1;
  bool rounds;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const TileAt& tile) const {
    const Tile scale = X::load(tile.x());
    for (int i = 0; i < 4; ++i) {
      const U32 bits = bit_cast<U32>(scale.part[i]);
      const U32 low = rounds ? rounded_to_19_bits(bits) : bits & 0xffffe000;
      const F32 offset =
          min(max(zero_for_nan(parameters(TransQuantParamKernel::kOffset, i)), broadcast(-256)),
              broadcast(255));
      const I32 whole = __builtin_convertvector(rint(offset), I32);
      const I32 high = 1 << (46 - 32) | (whole & 0x1ff) << (37 - 32);
      Y::put(tile.y() + i * kLanes, bit_cast<I32>(low), high, tile.stores);
    }
  }
};

}  // namespace

template <>
void TransQuantParamKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  map_rows(args.work, QuantParam{args.rounds});
}

}  // namespace npu_quant
