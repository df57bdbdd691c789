// How results reach memory: through the caches, or past them.
#pragma once

#include "simd/vec.h"

namespace npu_quant {
namespace {

// Where a vector of results goes: kept in cache, or streamed past it where the output is far larger
// (y must be aligned).
struct KeepInCache {
  static constexpr bool kStreams = false;
  template <class V>
  static NPU_QUANT_INLINE void put(void* y, V v) {
    store(y, v);
  }
};
struct StreamToMemory {
  static constexpr bool kStreams = true;
  template <class V>
  static NPU_QUANT_INLINE void put(void* y, V v) {
    stream(y, bit_cast<I8>(v));
  }
};

NPU_QUANT_INLINE bool is_vector_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kVectorBytes == 0;
}

NPU_QUANT_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Elements from y to the first address that a streaming store takes, at most n; y's elements must
// lie at multiples of their size.
template <class T>
NPU_QUANT_INLINE int64_t elements_to_alignment(const T* y, int64_t n) {
  const auto bytes = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(y) & (kVectorBytes - 1));
  return least(bytes / static_cast<int64_t>(sizeof(T)), n);
}

// Copies past the caches, to any address.
NPU_QUANT_INLINE void stream_bytes(const uint8_t* from, int64_t n, uint8_t* to) {
  int64_t i = elements_to_alignment(to, n);
  std::memcpy(to, from, static_cast<size_t>(i));
  for (; i + kVectorBytes <= n; i += kVectorBytes) stream(to + i, load<I8>(from + i));
  std::memcpy(to + i, from + i, static_cast<size_t>(n - i));
}

NPU_QUANT_INLINE void store_scale(char* to, float scale) { std::memcpy(to, &scale, sizeof scale); }

// Codes for a y that streaming stores cannot take as it lies: each group of codes is encoded here,
// and streamed in whole vectors of y, piece by piece, while the next group is encoded into the
// other half.
template <int64_t kGroup>
class AligningBuffer {
 public:
  explicit AligningBuffer(int8_t* y) : y_(y), late_(kTile - elements_to_alignment(y, kTile)) {}

  // Where the group to come is encoded, and the group before it streamed from.
  NPU_QUANT_INLINE int8_t* next_group() {
    half_ ^= kGroup;
    if (half_ == 0) store(memory_, load<I8>(memory_ + 2 * kGroup));  // what precedes the first half
    return memory_ + kTile + half_;
  }

  // Streams n codes of the group before, from its code `at` on less the `late_` codes by which y's
  // vectors lag.
  NPU_QUANT_INLINE void stream_previous(int64_t at, int64_t n) {
    const int8_t* from = memory_ + kTile + (half_ ^ kGroup) + at - late_;
    if (groups_ == 0) return;
    for (int64_t i = 0; i < n; i += kTile) {
      if (__builtin_expect(streamed_ == 0, false))
        std::memcpy(y_, from + late_, static_cast<size_t>(kTile - late_));
      else
        stream(y_ - late_ + streamed_, load<I8>(from + i));
      streamed_ += kTile;
    }
  }
  NPU_QUANT_INLINE void end_group() { ++groups_; }

  // Streams the last group; then y is complete.
  NPU_QUANT_INLINE void flush() {
    if (groups_ == 0) return;
    next_group();
    stream_previous(0, kGroup);
    const int8_t* end = memory_ + kTile + (half_ ^ kGroup) + kGroup;
    std::memcpy(y_ + groups_ * kGroup - late_, end - late_, static_cast<size_t>(late_));
  }

 private:
  alignas(64) int8_t memory_[kTile + 2 * kGroup];
  int8_t* y_;
  int64_t late_;           // of y's vectors behind the groups: 1 to kTile
  int64_t half_ = kGroup;  // offset of the half that is being encoded
  int64_t groups_ = 0;
  int64_t streamed_ = 0;
};

}  // namespace
}  // namespace npu_quant
