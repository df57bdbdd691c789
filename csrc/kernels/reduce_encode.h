// The loops of the dynamic quantizers: reduce to an amax, then encode, reading the second time from
// cache.
#pragma once

#include "kernels/arithmetic.h"
#include "kernels/store.h"
#include "simd/float_environment.h"
#include "simd/gather.h"

namespace npu_quant {
namespace {

// The end of n values, from i on, fewer than a tile: where there is a tile before the end, that is
// done once more, which changes nothing; else the values are padded.
template <class Values>
NPU_QUANT_INLINE void reduce_end(Values v, int64_t i, int64_t n, typename Values::Amax& amax) {
  if (i == n) return;
  if (n >= kTile) return v.from(n - kTile).include_in(amax);
  typename Values::Buffer buffer;
  v.from(i).padded(n - i, buffer).include_in(amax);
}

// A plain store into a vector of y that was just streamed would fetch it back: there the end is
// padded.
template <class Store, class Values, class Encoder>
NPU_QUANT_INLINE void encode_end(Values v, int64_t i, int64_t n, int8_t* y, Encoder encoder) {
  if (i == n) return;
  if (n >= kTile && !Store::kStreams)
    return store(y + n - kTile, encoder(v.from(n - kTile).tile()));
  typename Values::Buffer buffer;
  const I8 code = encoder(v.from(i).padded(n - i, buffer).tile());
  std::memcpy(y + i, &code, static_cast<size_t>(n - i));
}

template <class Values>
NPU_QUANT_INLINE void reduce(Values v, int64_t n, typename Values::Amax& amax) {
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) v.from(i).include_in(amax);
  reduce_end(v, i, n, amax);
}

template <class Store, class Values, class Encoder>
NPU_QUANT_INLINE void encode(Values v, int64_t n, int8_t* y, Encoder encoder) {
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) Store::put(y + i, encoder(v.from(i).tile()));
  encode_end<Store>(v, i, n, y, encoder);
}

// Asks for the cache lines of n values. Reading past the end of memory is allowed here: a prefetch
// never faults.
template <class Values>
NPU_QUANT_INLINE void prefetch_values(Values v, int64_t n) {
  constexpr int64_t kPerLine = 64 / static_cast<int64_t>(sizeof(*v.x));
  for (int64_t i = 0; i < n; i += kPerLine) prefetch(v.x + i);
}

// Encodes one row while reducing the next: the arithmetic of the one hides the memory latency of
// the other.
template <class Store, class Values, class Encoder>
NPU_QUANT_INLINE void encode_and_reduce(Values v, int64_t n, int8_t* y, Encoder encoder,
                                        Values next, typename Values::Amax& next_amax) {
  constexpr int64_t kAhead = 6 * 1024 / static_cast<int64_t>(sizeof(*v.x));
  int64_t i = Store::kStreams ? elements_to_alignment(y, n) : 0;
  encode_end<Store>(v, 0, i, y, encoder);
  reduce_end(next, 0, i, next_amax);
  for (; i + kTile <= n; i += kTile) {
    prefetch_values(next.from(i + kAhead), kTile);
    Store::put(y + i, encoder(v.from(i).tile()));
    next.from(i).include_in(next_amax);
  }
  encode_end<Store>(v, i, n, y, encoder);
  reduce_end(next, i, n, next_amax);
}

// Arrays whose elements are not neighbours pass through a buffer of so many elements, kRowsAtOnce
// rows at a time where those share cache lines.
inline constexpr int64_t kBuffer = 8192;

}  // namespace
}  // namespace npu_quant
