// Dynamic quantization in groups of any shape (docs/numerics.md 12):
//   hi, lo = max v, min v      over the group
//   symmetric:   scale = max(|hi|, |lo|) / greatest
//   asymmetric:  scale = max((hi - lo) / range, 1e-12)     offset = greatest - hi / scale
#include "kernels/dynamic/groups.h"

#include "kernels/dynamic/extremes.h"
#include "kernels/rows/piece.h"

namespace npu_quant {
namespace {

// float32 numbers of `count` groups, at most kLanes, mostly so many.
NPU_QUANT_INLINE F32 load_some(const char* from, int64_t count) {
  if (count == kLanes) return load<F32>(from);
  F32 some{};
  std::memcpy(&some, from, static_cast<size_t>(count) * sizeof(float));
  return some;
}
NPU_QUANT_INLINE void put_some(F32 values, int64_t count, char* to) {
  if (count == kLanes) return store(to, values);
  std::memcpy(to, &values, static_cast<size_t>(count) * sizeof(float));
}
void put_some(F32 values, int64_t count, const Strided& to) {
  if (to.data == nullptr) return;
  if (to.row_stride == sizeof(float)) return put_some(values, count, to.data);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to.from(i, 0).data, reinterpret_cast<const char*>(&values) + i * 4, sizeof(float));
}

// Puts the extremes of some groups, at most a vector of them, to `hi` and `lo`.
template <class In>
NPU_QUANT_INLINE void put_extremes(const Extremes<In>& found, int64_t groups, char* hi, char* lo,
                                   bool begins) {
  using K = Keys<In>;
  alignas(64) typename K::Int bits[2][K::kCount];
  store(bits[0], K::turned(found.hi));
  store(bits[1], K::turned(found.lo));
  for (int64_t g = 0; g < groups; g += kLanes) {
    const int64_t some = least(groups - g, kLanes);
    F32 high = K::numbers(bits[0] + g), low = K::numbers(bits[1] + g);
    const I32 is_nan = (high != high) | (low != low);
    if (!begins) {  // NaN stays, as what was there is the second of the two
      high = max(high, load_some(hi + g * 4, some));
      low = min(low, load_some(lo + g * 4, some));
    }
    put_some(is_nan ? plain_nan() : high, some, hi + g * 4);
    put_some(is_nan ? plain_nan() : low, some, lo + g * 4);
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
  static constexpr int64_t kColumns = 4096;  // whose extremes stay in L1 beside the values
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
    if (x_.is_direct() && rows == kRowsInTurn && count >= K::kCount)
      return include_direct(args_.x.from(row, i).data, count);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < count; c += K::kCount)
        found_[c / K::kCount].include(
            K::some_at(x_.at(row + r, i) + first(c, count) * K::kItem, count));
  }
  // kRowsInTurn rows, while memory is asked for as many more: lines of rows that lie a power of two
  // apart would drive each other out of L1.
  __attribute__((noinline)) void include_direct(const char* x, int64_t count) {
    const int64_t row_stride = args_.x.row_stride;
    for (int64_t c = 0; c < count; c += K::kCount) {
      const char* const column = x + first(c, count) * K::kItem;
      Extremes<In> found = found_[c / K::kCount];
      for (int64_t r = 0; r < kRowsInTurn; ++r) {
        const char* const at = column + r * row_stride;
        prefetch_into(CacheLevel::second, reinterpret_cast<uintptr_t>(at) +
                                              static_cast<uintptr_t>(kRowsInTurn * row_stride));
        found.include(K::at(at));
      }
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
  for (int64_t g = 0; g < args.count; g += kLanes) {
    const int64_t some = least(args.count - g, kLanes);
    const F32 hi = load_some(args.hi + g * 4, some), lo = load_some(args.lo + g * 4, some);
    const ScaleAndOffset of_some = scale_and_offset(args.rule, args.symmetric, hi, lo);
    put_some(of_some.scale, some, args.scale + g * 4);
    put_some(of_some.offset, some, args.offset + g * 4);
    if (multiplies(args.rule)) put_some(of_some.multiplier, some, args.multiplier + g * 4);
    put_some(of_some.scale, some, args.scales.from(g, 0));
    put_some(of_some.offset, some, args.offsets.from(g, 0));
  }
}

}  // namespace npu_quant
