// Codes of values that are made and not read, by scales and zero points (docs/numerics.md 3):
//   y = enc(v / scale + zero_point), or v * scale; NaN gives 0
#pragma once

#include "kernels/dynamic/affine.h"
#include "kernels/rows/piece.h"

namespace npu_quant {
namespace {

// A weight as a loop reads it: from(i) are the values of element i and a tile's worth after it.
struct Weight {
  const Unaligned<float>* values;  // null where there is none
  int64_t mask;                    // 0 where one value serves all

  NPU_QUANT_INLINE const Unaligned<float>* from(int64_t i) const { return values + (i & mask); }
  NPU_QUANT_INLINE F32 part(int64_t i, int p) const { return load<F32>(from(i) + p * kLanes); }
  NPU_QUANT_INLINE Tile tile(int64_t i) const { return Float32<WholeLoads>::load(from(i)); }
};

// What codes go by. Where there are factors and steps, they are StepsKernel's.
enum { kScale, kZeroPoint, kFactor, kSteps, kAffineWeights };

// Weights of which some have a value for each element, and some one for all, which is read from a
// tile of copies.
template <int count>
class Weights {
 public:
  explicit Weights(const Strided* const (&of)[count]) {
    for (int w = 0; w < count; ++w) {
      at[w] = {parameter_at(*of[w], 0, 0), -1};
      if (of[w]->data != nullptr && of[w]->stride == 0) copy(w, at[w].values, 1);
    }
  }
  // Those of n elements from one on, fewer than a tile, and after them the first one's.
  Weights(const Weight (&of)[count], int64_t first, int64_t n) {
    for (int w = 0; w < count; ++w) {
      at[w] = of[w];
      if (of[w].values != nullptr) copy(w, of[w].from(first), n);
    }
  }
  Weights(const Weights&) = delete;

  // One value for all where there is none.
  NPU_QUANT_INLINE void fill_in(int w, float value) {
    if (at[w].values == nullptr) spread(w, value);
  }
  // One value for all.
  NPU_QUANT_INLINE void spread(int w, float value) {
    store_tile(copies_[w], tile_of(broadcast(value)));
    at[w] = {unaligned(copies_[w]), 0};
  }

  Weight at[count];

 private:
  NPU_QUANT_INLINE void copy(int w, const Unaligned<float>* values, int64_t n) {
    spread(w, values->value);
    std::memcpy(copies_[w], values, static_cast<size_t>(n) * sizeof(float));
  }

  alignas(64) float copies_[count][kTile];
};

// How the values of a call become codes.
struct Affine {
  Format format;
  bool divides, has_steps;
  Rounding rounding = Rounding::to_even;  // of float4
};

// The codes of tiles in memory order, of which `by` are the weights from element i on.
struct FormulaCodes {
  static constexpr bool kMixed = false;
  Affine affine;
  const Weight* by;
  int64_t i;

  NPU_QUANT_INLINE FormulaCodes(const Affine& affine_, const Weight* by_, int64_t i_)
      : affine(affine_), by(by_), i(i_) {}
  NPU_QUANT_INLINE F32 scale(int p) const { return by[kScale].part(i, p); }
  NPU_QUANT_INLINE F32 offset(int p) const { return by[kZeroPoint].part(i, p); }

  NPU_QUANT_INLINE void put(const Tile& v, char* y, Stores stores) const {
    Tile q = v;
    if (affine.divides)
      q = sums_by_formula(v, *this, kDivide);
    else
      for (int p = 0; p < 4; ++p) q.part[p] = v.part[p] * scale(p) + offset(p);
    if (affine.format == Format::int8)
      put_with_zero_for_nan<Int8>(reinterpret_cast<int8_t*>(y), q, stores);
    else
      SmallCode::put(affine.format, reinterpret_cast<uint8_t*>(y), q, stores, affine.rounding);
  }
};

// The same to int8 of tiles in X's order: by steps where they are certain of a whole tile. Their
// weights are read once for all tiles that come with these elements.
template <class X>
struct StepsCodes {
  static constexpr bool kMixed = X::kMixes;
  FormulaCodes formula;
  Tile factors, offsets;

  NPU_QUANT_INLINE StepsCodes(const Affine& affine, const Weight* by, int64_t i)
      : formula(affine, by, i),
        factors(X::mixed(by[kFactor].tile(i))),
        offsets(X::mixed(by[kSteps].tile(i))) {}
  NPU_QUANT_INLINE F32 factor(int p) const { return factors.part[p]; }
  NPU_QUANT_INLINE F32 steps(int p) const { return offsets.part[p]; }

  NPU_QUANT_INLINE void put(const Tile& v, char* y, Stores stores) const {
    if (!Int8::put_floors<kMixed>(reinterpret_cast<int8_t*>(y), steps_of_sums(v, *this), stores))
      formula.put(X::unmixed(v), y, stores);
  }
};

// What becomes of tiles of values: codes of pieces of rows, the first of which begins at y.
template <class Codes>
struct ToCodes {
  static constexpr bool kMixed = Codes::kMixed, kIsOneRow = false;
  Affine affine;
  char* y;
  int64_t row_stride;
  Stores stores;

  // What the tiles at element i of all rows have in common.
  NPU_QUANT_INLINE Codes at(const Weight* by, int64_t i) const { return {affine, by, i}; }
  NPU_QUANT_INLINE void put(int64_t row, int64_t i, const Codes& codes, const Tile& v) const {
    codes.put(v, y + row * row_stride + i, stores);
  }
  // Codes [i, end) of the tile at `first`.
  NPU_QUANT_INLINE void put_part(int64_t row, int64_t first, int64_t i, int64_t end,
                                 const Codes& codes, const Tile& v) const {
    alignas(64) char tile[kTile];
    codes.put(v, tile, Stores{false});
    std::memcpy(y + row * row_stride + i, tile + (i - first), static_cast<size_t>(end - i));
  }
};

}  // namespace
}  // namespace npu_quant
