// npu_convert_weight_to_int4pack (docs/numerics.md 16):
//   y = the low 4 bits of each element, or the code of float4_e2m1 whose number has its first 10
//   bits, and 0 where there is none; 8 codes to an element of y
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

// By the exponent and the first bit of the mantissa, as one number: 1 is 254, and from there on
// codes are neighbours; 0.5 is 252, and 0 is 0. Those of no number have no sign either.
NPU_QUANT_INLINE I32 float4_code(I32 bits) {
  constexpr int32_t kOne = 127 << 1, kCodeOfOne = 2, kGreatestCode = 7;
  const I32 magnitude = bits >> 22 & 0x1ff;
  const I32 code = magnitude - (kOne - kCodeOfOne);
  I32 known = code >= kCodeOfOne && code <= kGreatestCode ? code : I32{};
  known = magnitude == kOne - 2 ? I32{} + 1 : known;
  return known != 0 || magnitude == 0 ? known | (bits >> 28 & 8) : I32{};
}

struct Nibble {
  struct X {
    using Storage = Unaligned<int32_t>;
  };
  using Y = SmallCode;
  static constexpr int kParameters = 0;
  bool of_float4;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters&, const TileAt& tile) const {
    I32 code[4];
    Int32::load(tile.x(), code);
    if (of_float4)
      for (int i = 0; i < 4; ++i) code[i] = float4_code(code[i]);
    tile.stores.put(tile.y(), low_bytes(code));
  }
};

}  // namespace

template <>
void ConvertWeightToInt4packKernel::run<kTarget>(const Args& args) {
  trap_unless(is_reference(args.work.rule));
  map_rows(args.work, Nibble{args.of_float4});
}

}  // namespace npu_quant
