// Results that bypass the caches, whatever the alignment of where they go.
#pragma once

#include "core/strided.h"
#include "simd/vec.h"

namespace npu_quant {
namespace {

// Where rows of results go, piece by piece: into the caches, or past them where y is far larger
// than they are. A loop puts the vectors of a piece from at() on, in any order. That is y, if these
// are its own vectors, or if nothing is streamed; else memory in L1, of two halves. While the one
// is filled, put() streams as much of the other, so that streaming stores do not come all at once,
// and none reads what was just stored:
//
//   y         ..|........|........|........|..     of what begins and ends the results, and may be
//   a half    ..|........|........|........|..     others' too, no more is stored than has come
//
// Rows that follow on each other have no ends between them.
class ResultStream {
 public:
  static constexpr int64_t kRoom = 2048;  // bytes of the longest piece

  // Of rows of so many bytes.
  ResultStream(bool streams, const Strided& y, int64_t bytes)
      : stores_(!streams), buffers_(streams && !has_whole_vectors(y, bytes)) {}
  ~ResultStream() { flush(); }
  ResultStream(const ResultStream&) = delete;

  // How many of n bytes are the next piece. All are a vector at least, if n is.
  NPU_QUANT_INLINE int64_t piece(int64_t n) const {
    if (!buffers() || n <= kFull) return n;
    return n < kFull + kVectorBytes ? kFull - kVectorBytes : kFull;
  }
  // Asks for the cache lines of a piece that are not all its own.
  NPU_QUANT_INLINE void expect(const char* y, int64_t n) const {
    if (!buffers()) return;
    prefetch(reinterpret_cast<uintptr_t>(y));
    prefetch(reinterpret_cast<uintptr_t>(y + n - 1));
  }
  // Where a piece is to be put that belongs at y.
  NPU_QUANT_INLINE char* at(char* y) {
    if (!buffers()) return y;
    if (__builtin_expect(y != next_, false)) begin(y);
    return filled_ + used_;
  }
  // A vector of a piece, or half of one.
  template <class V>
  NPU_QUANT_INLINE void put(char* to, V v) {
    if (stores()) return store(to, v);
    if (!buffers()) return stream(to, v);
    store(to, v);
    if (waiting_ != end_) stream_waiting();
  }
  // So many bytes of the piece are there.
  NPU_QUANT_INLINE void end(int64_t n) {
    if (!buffers()) return;
    next_ += n;
    used_ += n;
    if (used_ >= kFull) exchange();
  }
  // After it all results are on their way to y, where a stream_fence() sees them arrive.
  __attribute__((noinline)) void flush() {
    begin(next_);
    while (waiting_ != end_) stream_waiting();
  }

 private:
  static constexpr int64_t kFull = 1024;  // of a half: then it is streamed

  // Where there is no store past the caches, the compiler knows that nothing is streamed.
  NPU_QUANT_INLINE bool stores() const { return !kHasStream || stores_; }
  NPU_QUANT_INLINE bool buffers() const { return kHasStream && buffers_; }

  static bool has_whole_vectors(const Strided& y, int64_t bytes) {
    return is_vector_aligned(y.data) && y.row_stride % kVectorBytes == 0 &&
           bytes % kVectorBytes == 0;
  }

  NPU_QUANT_INLINE void stream_waiting() {
    stream(to_, load<I8>(waiting_));
    waiting_ += kVectorBytes;
    to_ += kVectorBytes;
  }
  __attribute__((noinline)) void begin(char* y) {
    if (used_ >= kVectorBytes) exchange();
    if (used_ > first_) store_bytes(first_, used_);
    next_ = y;
    first_ = used_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(y) % kVectorBytes);
  }
  // The half that is filled waits, and of the other what waited is streamed.
  __attribute__((noinline)) void exchange() {
    while (waiting_ != end_) stream_waiting();
    if (first_ > 0) store_bytes(first_, kVectorBytes);
    const int64_t begin = first_ > 0 ? kVectorBytes : 0, left = used_ % kVectorBytes;
    waiting_ = filled_ + begin;
    end_ = filled_ + (used_ - left);
    to_ = next_ - used_ + begin;
    filled_ = filled_ == halves_[0] ? halves_[1] : halves_[0];
    store(filled_, load<I8>(end_));
    used_ = left;
    first_ = 0;
  }
  void store_bytes(int64_t from, int64_t to) const {
    std::memcpy(next_ - used_ + from, filled_ + from, static_cast<size_t>(to - from));
  }

  const bool stores_, buffers_;                     // if neither, y itself is streamed
  char* next_ = nullptr;                            // what comes next belongs there
  char* filled_ = halves_[0];                       // the half that is filled,
  int64_t first_ = 0, used_ = 0;                    // and what of it is to go to y
  const char *waiting_ = nullptr, *end_ = nullptr;  // vectors of the other half
  char* to_ = nullptr;                              // and where they go
  alignas(64) char halves_[2][kFull + kRoom + kVectorBytes];
};

}  // namespace
}  // namespace npu_quant
