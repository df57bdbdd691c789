// Dynamic quantization in groups of any shape (docs/numerics.md 2):
//   hi, lo = max v, min v      over the group
//   symmetric:   scale = max(|hi|, |lo|) / greatest
//   asymmetric:  scale = max((hi - lo) / range, 1e-12)     offset = greatest - hi / scale
#include "kernels/dynamic_groups.h"

#include "kernels/piece.h"
#include "simd/values.h"

namespace npu_quant {
namespace {

// Floats as integers of the same order, NaN at both ends: of negative ones all bits but the sign
// are flipped, and that again turns them back. The key of -v is ~ that of v.
template <class In>
struct Keys {
  using Int = typename In::Amax::Bits;
  using Vector = Vec<Int>;
  static constexpr int64_t kItem = sizeof(Int), kCount = kVectorBytes / kItem;

  static NPU_QUANT_INLINE Vector turned(Vector bits) {
    constexpr int kSign = 8 * kItem - 1;
    return bits ^ ((bits >> kSign) & static_cast<Int>(~(Int{1} << kSign)));
  }
  static NPU_QUANT_INLINE Vector at(const char* x) { return turned(load<Vector>(x)); }
  // Of a vector at least, or else of `count` values and the first one again and again.
  static NPU_QUANT_INLINE Vector some_at(const char* x, int64_t count) {
    if (count >= kCount) return at(x);
    alignas(64) char values[kVectorBytes];
    for (int64_t i = 0; i < kCount; ++i)
      std::memcpy(values + i * kItem, x + (i < count ? i : 0) * kItem, kItem);
    return at(values);
  }
  // The numbers of kLanes keys that have been turned back.
  static NPU_QUANT_INLINE F32 numbers(const Int* bits) {
    if constexpr (In::kIs16Bit)
      return In::widen_lanes(bits);
    else
      return load<F32>(bits);
  }
};

// The running greatest and least key of each lane; at first those of nothing, -inf and inf.
template <class In>
struct Extremes {
  using K = Keys<In>;
  typename K::Vector hi = ~(typename K::Vector{} + In::kInfinity);
  typename K::Vector lo = typename K::Vector{} + In::kInfinity;

  NPU_QUANT_INLINE void include(typename K::Vector key) {
    hi = max(hi, key);
    lo = min(lo, key);
  }
  NPU_QUANT_INLINE void include(const Extremes& other) {
    hi = max(hi, other.hi);
    lo = min(lo, other.lo);
  }
  // Those of all lanes, in the first one.
  NPU_QUANT_INLINE Extremes of_all() const {
    using Int = typename K::Int;
    Extremes all;
    all.hi[0] = horizontal_max<Int, kVectorBytes>(hi);
    all.lo[0] = static_cast<Int>(~horizontal_max<Int, kVectorBytes>(~lo));
    return all;
  }
};

// Puts the extremes of some groups, at most a vector of them, to `hi` and `lo`.
template <class In>
NPU_QUANT_INLINE void put_extremes(const Extremes<In>& found, int64_t groups, char* hi, char* lo,
                                   bool begins) {
  using K = Keys<In>;
  alignas(64) typename K::Int bits[2][K::kCount];
  store(bits[0], K::turned(found.hi));
  store(bits[1], K::turned(found.lo));
  for (int64_t g = 0; g < groups; g += kLanes) {
    const auto some = static_cast<size_t>(least(groups - g, kLanes)) * sizeof(float);
    F32 high = K::numbers(bits[0] + g), low = K::numbers(bits[1] + g);
    I32 is_nan = (high != high) | (low != low);
    if (!begins) {
      F32 before[2] = {};
      std::memcpy(before, hi + g * 4, some);
      std::memcpy(before + 1, lo + g * 4, some);
      is_nan |= before[0] != before[0];
      high = max(high, before[0]);
      low = min(low, before[1]);
    }
    const F32 nan = broadcast(bit_cast<float>(kQuietNaNBits));
    high = is_nan ? nan : high;
    low = is_nan ? nan : low;
    std::memcpy(hi + g * 4, &high, some);
    std::memcpy(lo + g * 4, &low, some);
  }
}

template <class In>
class Reduction {
 public:
  explicit Reduction(const ExtremesKernel::Args& args)
      : args_(args), x_(args.x, K::kItem, buffer_) {}

  void run() { args_.hi.stride != 0 ? reduce_columns() : reduce_rows(); }

 private:
  using K = Keys<In>;
  static constexpr int64_t kMostRows = rows_at_once(2);
  static constexpr int64_t kColumns = 1024;  // whose extremes stay in L1 beside the values
  static constexpr int64_t kRowsInTurn = 8;  // for which they are loaded and stored once

  void reduce_rows() {
    const int64_t together = x_.rows_together();
    const int64_t width =
        x_.is_direct() ? args_.n : least(args_.n, kBufferBytes / K::kItem / together);
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together);
      for (int64_t r = 0; r < rows; ++r) found_[r] = {};
      for (int64_t i = 0; i < args_.n; i += width) {
        const int64_t count = least(args_.n - i, width);
        x_.fetch(row, rows, i, count, width);
        for (int64_t r = 0; r < rows; ++r) found_[r].include(of_piece(x_.at(row + r, i), count));
      }
      for (int64_t r = 0; r < rows; ++r) put(found_[r].of_all(), row + r, 0, 1, row + r == 0);
    }
  }

  static NPU_QUANT_INLINE Extremes<In> of_piece(const char* x, int64_t n) {
    constexpr int64_t kCount = K::kCount;
    Extremes<In> even, odd;
    int64_t i = 0;
    for (; i + 2 * kCount <= n; i += 2 * kCount) {
      even.include(K::at(x + i * K::kItem));
      odd.include(K::at(x + (i + kCount) * K::kItem));
    }
    for (; i < n; i += kCount) {
      const int64_t at = most(0, least(i, n - kCount));
      even.include(K::some_at(x + at * K::kItem, n - at));
    }
    even.include(odd);
    return even;
  }

  void reduce_columns() {
    const int64_t together = x_.is_direct() ? kRowsInTurn : x_.rows_together();
    const int64_t width =
        x_.is_direct() ? kColumns : least(kColumns, kBufferBytes / K::kItem / together);
    int64_t count = 0;
    for (int64_t i = 0; i < args_.n; i += count) {
      count = least(args_.n - i, width);
      for (auto& found : found_) found = {};
      for (int64_t row = 0; row < args_.rows; row += together)
        include_rows(row, least(args_.rows - row, together), i, count, width);
      for (int64_t c = 0; c < count; c += K::kCount)
        put(found_[c / K::kCount], 0, i + first(c, count), least(count, K::kCount), true);
    }
  }
  // The last vector of some columns reaches back over the one before it.
  static NPU_QUANT_INLINE int64_t first(int64_t c, int64_t count) {
    return most(0, least(c, count - K::kCount));
  }

  void include_rows(int64_t row, int64_t rows, int64_t i, int64_t count, int64_t width) {
    x_.fetch(row, rows, i, count, width);
    const char* from[kMostRows];
    for (int64_t r = 0; r < rows; ++r) from[r] = x_.at(row + r, i);
    for (int64_t c = 0; c < count; c += K::kCount) {
      const int64_t at = first(c, count);
      Extremes<In> found = found_[c / K::kCount];
      for (int64_t r = 0; r < rows; ++r) found.include(K::some_at(from[r] + at * K::kItem, count));
      found_[c / K::kCount] = found;
    }
  }

  // Groups from that of element i of a row on.
  void put(const Extremes<In>& found, int64_t row, int64_t i, int64_t groups, bool is_first) {
    const bool begins = args_.begins && (is_first || args_.hi.row_stride != 0);
    put_extremes(found, groups, args_.hi.from(row, i).data, args_.lo.from(row, i).data, begins);
  }

  const ExtremesKernel::Args& args_;
  Source x_;
  Extremes<In> found_[kColumns / K::kCount];
  static_assert(kColumns / K::kCount >= kMostRows);
  Buffer<> buffer_;
};

// The same with rows and columns exchanged.
ExtremesKernel::Args exchanged(const ExtremesKernel::Args& args) {
  const auto turn = [](const Strided& t) { return Strided{t.data, t.stride, t.row_stride}; };
  return {args.dtype, args.n, args.rows, turn(args.x), turn(args.hi), turn(args.lo), args.begins};
}

// As x lies in memory, but that rows shorter than a vector are gathered to columns.
bool is_to_be_exchanged(const ExtremesKernel::Args& args) {
  const bool is_short = args.n > 0 && args.n < kTile && args.rows > args.n;
  return is_short || (rows_share_lines(args.x.row_stride, args.x.stride) && args.rows >= kTile);
}

// float32 numbers of some groups, and what becomes of them.
NPU_QUANT_INLINE F32 load_some(const char* from, int64_t count) {
  F32 some{};
  std::memcpy(&some, from, static_cast<size_t>(count) * sizeof(float));
  return some;
}
void put_some(F32 values, int64_t count, int64_t at, char* to, const Strided& strided) {
  std::memcpy(to + at * 4, &values, static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count && strided.data != nullptr; ++i)
    std::memcpy(strided.from(at + i, 0).data, to + (at + i) * 4, sizeof(float));
}
NPU_QUANT_INLINE F32 magnitude(F32 v) { return bit_cast<F32>(bit_cast<I32>(v) & 0x7fffffff); }
NPU_QUANT_INLINE F32 plain_nan_or(F32 v) {
  return v == v ? v : broadcast(bit_cast<float>(kQuietNaNBits));
}

}  // namespace

template <>
void ExtremesKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  const Args chosen = is_to_be_exchanged(args) ? exchanged(args) : args;
  visit_float_with<WholeLoads>(chosen.dtype,
                               [&](auto in) { run_apart<Reduction<decltype(in)>>(chosen); });
}

template <>
void ScalesKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  constexpr float kLeastScale = 1e-12f;
  for (int64_t g = 0; g < args.count; g += kLanes) {
    const int64_t some = least(args.count - g, kLanes);
    F32 hi = load_some(args.hi + g * 4, some), lo = load_some(args.lo + g * 4, some);
    const I32 is_empty = hi < lo;
    hi = is_empty ? F32{} : hi;
    lo = is_empty ? F32{} : lo;
    F32 scale, offset = broadcast(-0.0f);
    if (args.symmetric) {
      scale = max(magnitude(hi), magnitude(lo)) / args.rule.greatest;
    } else {
      scale = (hi - lo) / args.rule.range;
      scale = scale < kLeastScale ? broadcast(kLeastScale) : scale;
      offset = args.rule.greatest - hi / scale;
    }
    put_some(plain_nan_or(scale), some, g, args.scale, args.scales);
    put_some(plain_nan_or(offset), some, g, args.offset, args.offsets);
  }
}

}  // namespace npu_quant
