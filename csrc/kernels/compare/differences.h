// Pairs of finite numbers that differ: their sums, eight lanes wide, and what is counted of them.
#pragma once

#include "kernels/compare/compare.h"
#include "kernels/compare/keys.h"

namespace npu_quant {
namespace {

// Eight lanes of a sum, whatever a target's vectors hold.
inline constexpr int kDifferenceLanes = 8;
inline constexpr int kDoubles = kVectorBytes / 8;
inline constexpr int kParts = kDifferenceLanes / kDoubles;

struct LaneSums {
  F64 part[kParts] = {};

  NPU_QUANT_INLINE double total() const { return sum_of_lanes<double, kDifferenceLanes>(part); }
};

NPU_QUANT_INLINE F64 absolute(F64 v) {
  return bit_cast<F64>(bit_cast<U64>(v) & 0x7fffffffffffffff);
}

// Pairs that are handed over together.
inline constexpr int kMostAtOnce = 128;

inline constexpr double kRelativeLimits[4] = {1e-2, 5e-3, 1e-3, 1e-4};
inline constexpr double kRelativeFloor = 1e-7;

template <class Keys>
class Differences {
 public:
  // Elements which[0], which[1], ... of two pieces that begin with element `first`, in ascending
  // order and at most kMostAtOnce.
  template <class Bits>
  NPU_QUANT_INLINE void add(const Bits* actual, const Bits* golden, const uint8_t* which, int count,
                            int64_t first) {
    if (size_ + count > kBatch) add_batch(kDifferenceLanes * (size_ / kDifferenceLanes));
    for (int i = 0; i < count; ++i) {
      actual_[size_ + i] = Keys::key(uint64_t{actual[which[i]]});
      golden_[size_ + i] = Keys::key(uint64_t{golden[which[i]]});
      elements_[size_ + i] = static_cast<uint64_t>(first + which[i]);
    }
    size_ += count;
  }

  // The sums since the last call.
  void finish_chunk(CompareSums& sums) {
    if (size_ > 0) add_rest();
    if (!has_sums_) return;
    sums.absolute = absolute_.total();
    sums.squares = squares_.total();
    sums.relative = relative_.total();
    sums.difference = difference_.total();
    sums.steps = steps_.total();
    sums.signed_steps = signed_steps_.total();
    sums.actual_squares = actual_squares_.total();
    sums.golden_squares = golden_squares_.total();
    sums.products = products_.total();
    absolute_ = squares_ = relative_ = difference_ = steps_ = signed_steps_ = {};
    actual_squares_ = golden_squares_ = products_ = {};
    has_sums_ = false;
  }

  // What was counted in all; merged into what has been.
  void finish(CompareCounts& counts, CompareExtremes& extremes) const {
    uint64_t apart = 0;
    for (int steps = 0; steps < 3; ++steps) {
      const uint64_t below = total(below_[steps]), either = total(steps_apart_[steps]);
      counts.steps_below[steps] += below;
      counts.steps_above[steps] += either - below;
      apart += either;
    }
    counts.zero_signs += pairs_ - apart;
    for (int limit = 0; limit < 4; ++limit) counts.over_relative[limit] += total(over_[limit]);
    counts.sign_flips += total(sign_flips_);
    counts.rounded_to_zero += total(rounded_to_zero_);
    for (int lane = 0; lane < kDoubles; ++lane) {
      counts.max_steps = most(counts.max_steps, most_steps_[lane]);
      extremes.max_abs = most(extremes.max_abs, most_absolute_[lane]);
      extremes.max_relative = most(extremes.max_relative, most_relative_[lane]);
      include_worst(counts, worst_size_[lane], worst_[lane]);
    }
  }

  static void include_worst(CompareCounts& counts, uint64_t size, uint64_t element) {
    if (size < counts.worst_size || element == CompareCounts::kNone) return;
    if (size == counts.worst_size && element >= counts.worst) return;
    counts.worst_size = size;
    counts.worst = element;
  }

 private:
  static constexpr int kBatch = 256;
  static_assert(kBatch >= kMostAtOnce + kDifferenceLanes);

  template <class T>
  static T most(T a, T b) {
    return a > b ? a : b;
  }
  static uint64_t total(U64 counts) {
    uint64_t sum = 0;
    for (int lane = 0; lane < kDoubles; ++lane) sum += counts[lane];
    return sum;
  }
  // Masks are -1 where they are set.
  static NPU_QUANT_INLINE void count(U64& counter, I64 mask) { counter -= bit_cast<U64>(mask); }

  // The order of unsigned integers, which most CPUs have of signed ones only.
  static NPU_QUANT_INLINE I64 is_more(U64 a, U64 b) {
    constexpr uint64_t kShift = sizeof(typename Keys::Bits) < 8 ? 0 : uint64_t{1} << 63;
    return bit_cast<I64>(a ^ kShift) > bit_cast<I64>(b ^ kShift);
  }

  // The first `count` pairs, whole lanes of them; fewer than kDifferenceLanes stay. Not inlined:
  // its accumulators are many.
  __attribute__((noinline)) void add_batch(int count) {
    has_sums_ = true;
    for (int i = 0; i < count; i += kDifferenceLanes)
      for (int part = 0; part < kParts; ++part) add_lanes(i + part * kDoubles, part);
    size_ -= count;
    for (int i = 0; i < size_; ++i) {
      actual_[i] = actual_[count + i];
      golden_[i] = golden_[count + i];
      elements_[i] = elements_[count + i];
    }
    pairs_ += static_cast<uint64_t>(count);
  }

  void add_rest() {
    const int padding = -size_ & (kDifferenceLanes - 1);
    for (int i = 0; i < padding; ++i) {
      actual_[size_ + i] = golden_[size_ + i] = Keys::kZero;
      elements_[size_ + i] = CompareCounts::kNone;
    }
    size_ += padding;
    add_batch(size_);
    pairs_ -= static_cast<uint64_t>(padding);
  }

  NPU_QUANT_INLINE void add_lanes(int i, int part) {
    const U64 a = load<U64>(actual_ + i), g = load<U64>(golden_ + i);
    const I64 below = bit_cast<I64>(a) < bit_cast<I64>(g);
    const U64 negative = bit_cast<U64>(below) >> 63;
    const U64 steps = magnitude_of(a - g, negative);
    const F64 step_count = Keys::steps_to_double(steps);
    const F64 actual = Keys::value(a), golden = Keys::value(g);
    const F64 difference = Keys::kIsFloat ? actual - golden : with_sign(step_count, negative);
    const F64 size = absolute(difference);
    const F64 relative = size / (absolute(golden) + kRelativeFloor);
    absolute_.part[part] += size;
    squares_.part[part] += difference * difference;
    relative_.part[part] += relative;
    difference_.part[part] += difference;
    steps_.part[part] += step_count;
    signed_steps_.part[part] += with_sign(step_count, negative);
    actual_squares_.part[part] += actual * actual;
    golden_squares_.part[part] += golden * golden;
    products_.part[part] += actual * golden;
    count_steps(steps, below);
    count_signs(a, g);
    for (int limit = 0; limit < 4; ++limit) count(over_[limit], relative > kRelativeLimits[limit]);
    most_absolute_ = size > most_absolute_ ? size : most_absolute_;
    most_relative_ = relative > most_relative_ ? relative : most_relative_;
    most_steps_ = is_more(steps, most_steps_) ? steps : most_steps_;
    const U64 order = Keys::kIsFloat ? bit_cast<U64>(size) : steps;
    const I64 is_worse = is_more(order, worst_size_);
    worst_size_ = is_worse ? order : worst_size_;
    worst_ = is_worse ? load<U64>(elements_ + i) : worst_;
  }

  NPU_QUANT_INLINE void count_steps(U64 steps, I64 below) {
    const I64 one = steps == 1, two = steps == 2, none = steps == 0;
    const I64 more = ~(one | two | none);
    count(steps_apart_[0], one);
    count(steps_apart_[1], two);
    count(steps_apart_[2], more);
    count(below_[0], one & below);
    count(below_[1], two & below);
    count(below_[2], more & below);
  }

  NPU_QUANT_INLINE void count_signs(U64 a, U64 g) {
    constexpr uint64_t kZero = Keys::kZero;
    if constexpr (Keys::kIsSigned) {
      const I64 both = (a != kZero) & (g != kZero);
      count(sign_flips_, both & (bit_cast<I64>(a ^ g) < 0));
    }
    count(rounded_to_zero_, (a == kZero) & (g != kZero));
  }

  int size_ = 0;
  bool has_sums_ = false;
  uint64_t pairs_ = 0;
  alignas(64) uint64_t actual_[kBatch], golden_[kBatch], elements_[kBatch];
  LaneSums absolute_, squares_, relative_, difference_, steps_, signed_steps_;
  LaneSums actual_squares_, golden_squares_, products_;
  U64 below_[3] = {}, steps_apart_[3] = {}, over_[4] = {};
  U64 sign_flips_{}, rounded_to_zero_{}, most_steps_{}, worst_size_{};
  U64 worst_ = U64{} + CompareCounts::kNone;
  F64 most_absolute_{}, most_relative_{};
};

}  // namespace
}  // namespace npu_quant
