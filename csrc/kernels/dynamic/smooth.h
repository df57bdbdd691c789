// The source x * smooth, of the dynamic quantizers (docs/numerics.md 2).
#pragma once

#include "kernels/rows/values.h"

namespace npu_quant {
namespace {

// Values of a row as they are made of x: v = x, or v = x * smooth, one fp32 rounding (exact for
// 16-bit x, overflow and underflow aside).
template <class In>
struct Plain {
  const typename In::Storage* x;

  NPU_QUANT_INLINE Tile at(int64_t i) const { return In::load(x + i); }
};
template <class In>
struct Products {
  const typename In::Storage* x;
  const Unaligned<float>* smooth;

  NPU_QUANT_INLINE Tile at(int64_t i) const {
    Tile v = In::load(x + i);
    for (int p = 0; p < 4; ++p) v.part[p] *= load<F32>(smooth + i + p * kLanes);
    return v;
  }
};

// n of them, and what is left of a tile after them.
template <class In>
__attribute__((noinline)) void widen(const typename In::Storage* x, const Unaligned<float>* smooth,
                                     int64_t n, float* v) {
  const int64_t end = n - n % kTile;
  const bool smooths = smooth != nullptr;
  for (int64_t i = 0; i < end; i += kTile)
    store_tile(v + i, smooths ? Products<In>{x, smooth}.at(i) : Plain<In>{x}.at(i));
  if (end == n) return;
  const Padded rest(x + end, n - end);
  float factors[kTile] = {};
  if (smooths) std::memcpy(factors, smooth + end, static_cast<size_t>(n - end) * sizeof(float));
  store_tile(v + end, smooths ? Products<In>{rest.values, unaligned(factors)}.at(0)
                              : Plain<In>{rest.values}.at(0));
}

void widen(DType dtype, const char* x, const Unaligned<float>* smooth, int64_t n, float* v) {
  visit_float_with<WholeLoads>(dtype, [&](auto in) {
    using In = decltype(in);
    widen<In>(reinterpret_cast<const typename In::Storage*>(x), smooth, n, v);
  });
}

// The source x * smooth.
class SmoothedRows {
 public:
  explicit SmoothedRows(const DynamicArgs& args)
      : args_(args),
        item_(size_of(args.dtype)),
        x_(args.x, item_, buffers_[0]),
        values_(args, *this, products_, buffers_[1]) {}

  void run() {
    const int64_t fitting = kBufferBytes / item_ / most(1, least(args_.n, kMostTogether));
    const int64_t together = least(least(x_.rows_together(), fitting), kMostRowsOfValues);
    for (int64_t row = 0; row < args_.rows; row += together)
      values_.quantize(row, least(args_.rows - row, together));
    values_.flush();
    if (args_.stream) stream_fence();
  }

  int64_t most_elements(int64_t rows) const {
    return x_.is_direct() ? kMostValues : kBufferBytes / item_ / rows;
  }
  void fetch(int64_t row, int64_t rows, int64_t i, int64_t n) { x_.fetch(row, rows, i, n, n); }
  void fill(int64_t row, int64_t i, int64_t n, float* v, AmaxFloat32& amax) const {
    widen(args_.dtype, x_.at(row, i), parameter_at(args_.smooth, 0, i), n, v);
    reduce<Float32<WholeLoads>>(unaligned(v), n, amax);
  }
  uintptr_t next(int64_t row, int64_t i) const {
    const bool has_next = row + 1 < args_.rows && x_.is_direct();
    return has_next ? reinterpret_cast<uintptr_t>(x_.at(row + 1, i)) : 0;
  }

 private:
  static constexpr int64_t kMostTogether = 256;  // elements of a row, where several pass together

  const DynamicArgs& args_;
  int64_t item_;
  Source x_;
  DynamicValues<SmoothedRows> values_;
  ValueBuffer products_;
  Buffer<> buffers_[2];
};

// In int8 from where x lies values are made twice and never stored: 0.6 to 0.7 of the time.
//
// Codes of a row, while the next one is reduced, if there is one.
template <class In, class Encoder>
NPU_QUANT_INLINE AmaxFloat32 encode_products(Products<In> v, Products<In> next, int64_t n, char* y,
                                             Encoder encoder, ResultStream& to, bool prefetches) {
  constexpr uintptr_t kAhead = 6 << 10;
  const CacheLevel level = prefetch_level();
  const bool has_next = next.x != nullptr;
  AmaxFloat32 amax;
  for (int64_t first = 0, count = 0; first < n; first += count) {
    count = to.piece(n - first);
    char* const part = to.at(y + first);
    const auto put_tile = [&](int64_t i) __attribute__((always_inline)) {
      if (prefetches && has_next) prefetch_values(level, next.x + first + i, kAhead, kTile);
      to.put(part + i, encoder(v.at(first + i)));
      if (has_next) amax.include(next.at(first + i));
    };
    int64_t i = 0;
    for (; i + kTile <= count; i += kTile) put_tile(i);
    if (i < count) put_tile(count - kTile);
    to.end(count);
  }
  return amax;
}

template <class In>
void quantize_products(const DynamicArgs& args) {
  using Product = Float32<WholeLoads>;
  const auto products = [&](int64_t row) {
    return Products<In>{x_of<In>(args, row), parameter_at(args.smooth, 0, 0)};
  };
  ResultStream to(args.stream, args.y, args.n);
  AmaxFloat32 amax;
  for (int64_t i = 0; i < args.n; i += kTile)
    amax.include(products(0).at(least(i, args.n - kTile)));
  for (int64_t row = 0; row < args.rows; ++row) {
    const auto divider =
        divider_of<Product, Int8, int32_t>(args.rule, AmaxFloat32::value(amax.bits()));
    store_scale(args.scale, row, 0, divider.scale);
    with_encoder<Product, Int8>(divider, [&](auto encoder) {
      const auto next = row + 1 < args.rows ? products(row + 1) : Products<In>{};
      amax =
          encode_products(products(row), next, args.n, y_of(args, row), encoder, to, args.stream);
    });
  }
  to.flush();
  if (args.stream) stream_fence();
}

}  // namespace
}  // namespace npu_quant
