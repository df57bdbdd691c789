// Codes of values by scales and zero points (docs/numerics.md 3), where the values lie in L1:
//   y = enc(v / scale + zero_point), or v * scale; NaN gives 0
#pragma once

#include "kernels/affine.h"
#include "kernels/piece.h"

namespace npu_quant {
namespace {

// What codes go by: float32, a stride of 4 for one of each element, of 0 where one serves all.
// Where there are a factor and steps, they are StepsKernel's.
struct Affine {
  enum { kScale, kZeroPoint, kFactor, kSteps, kWeights };
  Strided weights[kWeights];
  bool divides;

  bool has_steps() const { return weights[kSteps].data != nullptr; }
};

// The weights of n elements from one on, as tiles of them are read. Fewer than a tile are padded,
// and one is a tile of copies.
class AffineWeights {
 public:
  AffineWeights(const Affine& by, int64_t first, int64_t n) {
    const bool is_one = by.weights[Affine::kScale].stride == 0;
    tiles.mask = is_one ? 0 : -1;
    for (int w = 0; w < Affine::kWeights; ++w) {
      const Strided& of = by.weights[w];
      tiles.at[w] = of.data == nullptr ? nullptr : parameter_at(of, 0, first);
      if (of.data == nullptr || (!is_one && n >= kTile)) continue;
      const F32 one = broadcast(tiles.at[w]->value);
      for (int p = 0; p < 4; ++p) store(copies_[w] + p * kLanes, one);
      if (!is_one) std::memcpy(copies_[w], tiles.at[w], static_cast<size_t>(n) * sizeof(float));
      tiles.at[w] = unaligned(copies_[w]);
    }
  }
  AffineWeights(const AffineWeights&) = delete;

  struct Tiles {
    const Unaligned<float>* at[Affine::kWeights];
    int64_t mask;

    NPU_QUANT_INLINE F32 operator()(int w, int64_t i, int p) const {
      return load<F32>(at[w] + (i & mask) + p * kLanes);
    }
  };
  // Those of the tile at i, as kernels/affine.h asks for them.
  struct At {
    const Tiles& of;
    int64_t i;

    NPU_QUANT_INLINE F32 scale(int p) const { return of(Affine::kScale, i, p); }
    NPU_QUANT_INLINE F32 offset(int p) const { return of(Affine::kZeroPoint, i, p); }
    NPU_QUANT_INLINE F32 factor(int p) const { return of(Affine::kFactor, i, p); }
    NPU_QUANT_INLINE F32 steps(int p) const { return of(Affine::kSteps, i, p); }
  };
  Tiles tiles;

 private:
  alignas(64) float copies_[Affine::kWeights][kTile];
};

// What becomes of tiles of values: codes of a piece that begins at y.
template <class Code>
struct ToCodes {
  Code code;
  AffineWeights::Tiles by;
  char* y;
  Stores stores;

  NPU_QUANT_INLINE void put(int64_t i, const Tile& v) const { code.put(by, i, v, y + i, stores); }
  // Codes [i, end) of the tile at `first`.
  NPU_QUANT_INLINE void put_part(int64_t first, int64_t i, int64_t end, const Tile& v) const {
    alignas(64) char tile[kTile];
    code.put(by, first, v, tile, Stores{false});
    std::memcpy(y + i, tile + (i - first), static_cast<size_t>(end - i));
  }
};

NPU_QUANT_INLINE Tile sums_of(Tile v, const AffineWeights::At& by, bool divides) {
  if (divides) return sums_by_formula(v, by, kDivide);
  for (int p = 0; p < 4; ++p) v.part[p] = v.part[p] * by.scale(p) + by.offset(p);
  return v;
}

// By steps where they are certain of a whole tile, else by the formula.
template <bool divides, bool has_steps>
struct AffineInt8 {
  NPU_QUANT_INLINE void put(const AffineWeights::Tiles& by, int64_t i, const Tile& v, char* to,
                            Stores stores) const {
    auto* const y = reinterpret_cast<int8_t*>(to);
    const AffineWeights::At at{by, i};
    if constexpr (has_steps)
      if (Int8::put_floors(y, steps_of_sums(v, at), stores)) return;
    put_with_zero_for_nan<Int8>(y, sums_of(v, at, divides), stores);
  }
};
struct AffineSmall {
  Format format;
  bool divides;

  NPU_QUANT_INLINE void put(const AffineWeights::Tiles& by, int64_t i, const Tile& v, char* to,
                            Stores stores) const {
    SmallCode::put(format, reinterpret_cast<uint8_t*>(to), sums_of(v, {by, i}, divides), stores);
  }
};

// Calls use(to) with what puts codes of n elements, from one on, to y.
template <class Use>
NPU_QUANT_INLINE void with_codes(Format format, const Affine& by, int64_t first, int64_t n, char* y,
                                 Stores stores, Use use) {
  const AffineWeights weights(by, first, n);
  if (format != Format::int8)
    return use(ToCodes<AffineSmall>{{format, by.divides}, weights.tiles, y, stores});
  if (!by.divides) return use(ToCodes<AffineInt8<false, false>>{{}, weights.tiles, y, stores});
  if (!by.has_steps()) return use(ToCodes<AffineInt8<true, false>>{{}, weights.tiles, y, stores});
  use(ToCodes<AffineInt8<true, true>>{{}, weights.tiles, y, stores});
}

}  // namespace
}  // namespace npu_quant
