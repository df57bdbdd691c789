// Values that are made and not read. A source makes the values of a row, float32 in L1, and what
// follows is the same for all sources:
//
//   source              fill()              scale_of()   divider_of()      encode()
//   x * smooth    ->    v0 v1 v2 ...   ->   amax         v / scale    ->   codes
//   norm(x)
//
// A source says how many rows it takes together, rows_together(), and how many elements of each,
// most_elements(rows). fetch(row, rows, i, n) brings what elements [i, i + n) of some rows are made
// of; then fill(row, i, n, v, amax) makes those of one of these rows, may write a tile beyond them,
// and includes them in the amax.
// next(row) is what to ask memory for while a row is encoded, of size_of_next() bytes, or 0.
#pragma once

#include "kernels/dynamic/reduce.h"

namespace npu_quant {
namespace {

// So many values are 32 KiB. A longer row is made twice, in pieces: for its amax, for its codes.
inline constexpr int64_t kMostValues = 8192;
inline constexpr int64_t kMostRowsOfValues = 64;  // that a source takes together

struct ValueBuffer {
  alignas(64) float values[kMostValues + kTile];
};

// n values as X, and those alone.
template <class X>
__attribute__((noinline)) void put_values(const float* v, int64_t n, typename X::Storage* to) {
  for (int64_t i = 0; i < n; i += kTile) {
    alignas(64) typename X::Storage tile[kTile];
    X::put(tile, Float32<WholeLoads>::load(unaligned(v + i)), Stores{false});
    std::memcpy(to + i, tile, static_cast<size_t>(least(n - i, kTile)) * sizeof *tile);
  }
}

// While a row is encoded, memory is asked for what the next one is made of.
struct AskForNext {
  uintptr_t next;
  int64_t item;
  CacheLevel level;

  NPU_QUANT_INLINE void tile(int64_t i) const {
    if (next == 0) return;
    const uintptr_t at = next + static_cast<uintptr_t>(i * item);
    for (uintptr_t byte = 0; byte < static_cast<uintptr_t>(kTile * item); byte += 64)
      prefetch_into(level, at + byte);
  }
  NPU_QUANT_INLINE void end(int64_t, int64_t) const {}
  NPU_QUANT_INLINE void move(int64_t i) {
    if (next != 0) next += static_cast<uintptr_t>(i * item);
  }
};

template <class Code>
__attribute__((noinline)) void encode_values(const DynamicArgs& args, const float* v, int64_t n,
                                             float amax, char* y, ResultStream& to,
                                             const AskForNext& next) {
  using In = Float32<WholeLoads>;
  const auto divider = divider_of<In, Code, int32_t>(args.rule, amax);
  encode<In, Code>(unaligned(v), n, y, to, divider, next);
}

// Rows of values that each have a scale of their own: y, scale and what codes go by are those of
// `args`, x and smooth the source's.
template <class RowSource>
class DynamicValues {
 public:
  DynamicValues(const DynamicArgs& args, RowSource& source, ValueBuffer& values, Buffer<>& codes)
      : args_(args),
        source_(source),
        y_(args.y, args.y_item(), codes, args.stream),
        to_(args.stream && y_.is_direct(), args.y, args.n / args.packed() * args.y_item()),
        v_(values.values) {}

  // After the last row.
  void flush() { to_.flush(); }

  // Some rows that the source takes together.
  void quantize(int64_t row, int64_t rows) {
    const int64_t fitting = least(kMostValues, source_.most_elements(rows));
    width_ = least(most(1, args_.n), fitting / kPackedCodes * kPackedCodes);
    int32_t amax[kMostRowsOfValues] = {};
    for_each_piece(row, rows, true, [&](int64_t r, int64_t, int64_t, int32_t of_piece) {
      amax[r - row] = static_cast<int32_t>(most(amax[r - row], of_piece));
    });
    for (int64_t r = 0; r < rows; ++r)
      store_scale(args_.scale, row + r, 0, scale_of(args_.rule, AmaxFloat32::value(amax[r])));
    if (!y_.is_wanted()) return;
    for_each_piece(row, rows, width_ < args_.n, [&](int64_t r, int64_t i, int64_t n, int32_t) {
      encode_piece(r, i, n, AmaxFloat32::value(amax[r - row]));
    });
  }

 private:
  // Calls use(row, i, n, amax) with each piece of the rows in v_, and its amax if it was fetched.
  template <class Use>
  void for_each_piece(int64_t row, int64_t rows, bool fetches, Use use) {
    for (int64_t i = 0; i < args_.n; i += width_) {
      const int64_t n = least(args_.n - i, width_);
      if (fetches) source_.fetch(row, rows, i, n);
      for (int64_t r = row; r < row + rows; ++r) {
        AmaxFloat32 amax;
        if (fetches || rows > 1) source_.fill(r, i, n, v_, amax);
        use(r, i, n, amax.bits());
      }
    }
  }

  void encode_piece(int64_t row, int64_t i, int64_t n, float amax) {
    char* const y = y_.at(row, i / args_.packed());
    const AskForNext next{args_.stream ? source_.next(row, i) : 0, size_of(args_.dtype),
                          prefetch_level()};
    visit_code(args_.format,
               [&](auto code) { encode_values<decltype(code)>(args_, v_, n, amax, y, to_, next); });
    y_.put(row, i / args_.packed(), n / args_.packed());
  }

  const DynamicArgs& args_;
  RowSource& source_;
  Sink y_;
  ResultStream to_;
  float* const v_;
  int64_t width_ = 1;
};

}  // namespace
}  // namespace npu_quant
