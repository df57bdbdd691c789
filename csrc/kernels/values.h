// What a row is made of: x alone, or x times smooth_scales. The kernels read either through the
// same four names.
#pragma once

#include "simd/convert.h"

namespace npu_quant {
namespace {

// v = x
template <class InType>
struct Plain {
  using In = InType;
  using Amax = typename In::Amax;
  static constexpr bool kIs16Bit = In::kIs16Bit;
  const typename In::Storage* x;

  struct Buffer {
    typename In::Storage x[kTile] = {};
  };
  NPU_QUANT_INLINE Plain from(int64_t i) const { return {x + i}; }
  NPU_QUANT_INLINE Plain with(const void* row) const {
    return {static_cast<const typename In::Storage*>(row)};
  }
  NPU_QUANT_INLINE Tile tile() const { return In::load(x); }
  NPU_QUANT_INLINE void include_in(Amax& amax) const { In::include(amax, x); }
  // The first `count` values, with zeros up to a whole tile.
  NPU_QUANT_INLINE Plain padded(int64_t count, Buffer& buffer) const {
    std::memcpy(buffer.x, x, static_cast<size_t>(count) * sizeof(*x));
    return {buffer.x};
  }
};

// v = x * smooth, one fp32 rounding (exact for 16-bit x, overflow and underflow aside)
template <class InType>
struct Smoothed {
  using In = InType;
  using Amax = AmaxFloat32;
  static constexpr bool kIs16Bit = false;
  const typename In::Storage* x;
  const typename In::Storage* smooth;

  struct Buffer {
    typename In::Storage x[kTile] = {};
    typename In::Storage smooth[kTile] = {};
  };
  NPU_QUANT_INLINE Smoothed from(int64_t i) const { return {x + i, smooth + i}; }
  NPU_QUANT_INLINE Smoothed with(const void* row) const {
    return {static_cast<const typename In::Storage*>(row), smooth};
  }
  NPU_QUANT_INLINE Tile tile() const {
    Tile v = In::load(x);
    const Tile s = In::load(smooth);
    for (int i = 0; i < 4; ++i) v.part[i] *= s.part[i];
    return v;
  }
  NPU_QUANT_INLINE void include_in(Amax& amax) const { amax.include(tile()); }
  NPU_QUANT_INLINE Smoothed padded(int64_t count, Buffer& buffer) const {
    std::memcpy(buffer.x, x, static_cast<size_t>(count) * sizeof(*x));
    std::memcpy(buffer.smooth, smooth, static_cast<size_t>(count) * sizeof(*smooth));
    return {buffer.x, buffer.smooth};
  }
};

}  // namespace
}  // namespace npu_quant
