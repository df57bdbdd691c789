// Counts differences by row and by column without a division for each.
#pragma once

#include "kernels/compare/compare.h"
#include "simd/vec.h"

namespace npu_quant {
namespace {

// For elements of [begin, end) of the call, in ascending order.
class PlaceCounter {
 public:
  PlaceCounter(const ComparePlaces& places, int64_t begin, int64_t end) : places_(places) {
    go_to(places.first + begin);
    first_bucket_ = bucket_ = row_ >> places.row_shift;
    last_bucket_ = ((places.first + end - 1) / places.columns) >> places.row_shift;
  }
  PlaceCounter(const PlaceCounter&) = delete;
  PlaceCounter& operator=(const PlaceCounter&) = delete;
  ~PlaceCounter() { flush(); }

  // Element `i` of the call.
  NPU_QUANT_INLINE void count(int64_t i) {
    const int64_t element = places_.first + i;
    if (element >= row_end_) advance(element);
    ++in_bucket_;
    ++places_.column_counts[(element - (row_end_ - places_.columns)) >> places_.column_shift];
  }

 private:
  static constexpr int64_t kRowsWorthADivision = 8;

  void go_to(int64_t element) {
    row_ = element / places_.columns;
    row_end_ = (row_ + 1) * places_.columns;
  }
  __attribute__((noinline)) void advance(int64_t element) {
    for (int64_t i = 0; i < kRowsWorthADivision && element >= row_end_; ++i) {
      ++row_;
      row_end_ += places_.columns;
    }
    if (element >= row_end_) go_to(element);
    if (row_ >> places_.row_shift == bucket_) return;
    flush();
    bucket_ = row_ >> places_.row_shift;
  }
  // Rows that begin before or end after our elements may be another thread's too.
  void flush() {
    if (in_bucket_ == 0) return;
    int64_t* const count = places_.row_counts + bucket_;
    if (bucket_ == first_bucket_ || bucket_ == last_bucket_)
      __atomic_fetch_add(count, in_bucket_, __ATOMIC_RELAXED);
    else
      *count += in_bucket_;
    in_bucket_ = 0;
  }

  const ComparePlaces places_;
  int64_t row_ = 0, row_end_ = 0;
  int64_t bucket_ = 0, first_bucket_ = 0, last_bucket_ = 0, in_bucket_ = 0;
};

}  // namespace
}  // namespace npu_quant
