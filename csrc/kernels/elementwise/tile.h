// What a formula of the elementwise operators sees: a tile of a piece, and its parameters.
#pragma once

#include "kernels/elementwise/args.h"
#include "simd/vec.h"

namespace npu_quant {
namespace {

// A contiguous part of a row, or of joined rows.
struct Piece {
  const char* x;
  const char* next;  // what to ask memory for meanwhile, or null
  char* y;
  const uint8_t* read_mask;
  uint8_t* written_mask;
  int64_t n;
  const Unaligned<float>* parameters[kMostParameters];
};

// A tile of a piece as a formula sees it, from element `at` on.
template <class X, class Y>
struct TileAt {
  const Piece& piece;
  int64_t at;
  Stores stores;

  NPU_QUANT_INLINE const X* x() const { return reinterpret_cast<const X*>(piece.x) + at; }
  NPU_QUANT_INLINE Y* y() const { return reinterpret_cast<Y*>(piece.y) + at; }
  NPU_QUANT_INLINE const uint8_t* read_mask() const { return piece.read_mask + at; }
  NPU_QUANT_INLINE uint8_t* written_mask() const { return piece.written_mask + at; }
};

// A piece's parameters: parameter(which, part) are those of a part of a tile. One for all elements
// stays in a register; those of each element are read as they are needed, but for those `of_row`.
template <bool per_element, int count, unsigned of_row = 0>
class Parameters;

template <int count>
class Parameters<false, count> {
 public:
  explicit Parameters(const Piece& piece) {
    for (int which = 0; which < count; ++which)
      values_[which] = broadcast(piece.parameters[which]->value);
  }
  NPU_QUANT_INLINE Parameters from(int64_t) const { return *this; }
  NPU_QUANT_INLINE F32 operator()(int which, int) const { return values_[which]; }

 private:
  F32 values_[count > 0 ? count : 1];
};

template <int count, unsigned of_row>
class Parameters<true, count, of_row> {
 public:
  explicit Parameters(const Piece& piece) {
    for (int which = 0; which < count; ++which) {
      values_[which] = piece.parameters[which];
      if (of_row >> which & 1) of_row_[which] = broadcast(values_[which]->value);
    }
  }
  NPU_QUANT_INLINE Parameters from(int64_t i) const {
    Parameters moved = *this;
    for (int which = 0; which < count; ++which) moved.values_[which] += i;
    return moved;
  }
  NPU_QUANT_INLINE F32 operator()(int which, int part) const {
    return of_row >> which & 1 ? of_row_[which] : load<F32>(values_[which] + part * kLanes);
  }

 private:
  const Unaligned<float>* values_[count];
  F32 of_row_[count];
};

}  // namespace
}  // namespace npu_quant
