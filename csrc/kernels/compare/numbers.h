// Arrays of numbers, tile by tile: a tile that is equal and finite goes by in whole vectors, the
// pairs of others that are not are picked out.
#pragma once

#include "kernels/compare/differences.h"
#include "kernels/compare/places.h"

namespace npu_quant {
namespace {

template <int bytes>
NPU_QUANT_INLINE bool is_any_set(Vec<uint64_t, bytes> v) {
  if constexpr (bytes == 16) {
    return (v[0] | v[1]) != 0;
  } else {
    using Half = Vec<uint64_t, bytes / 2>;
    const Half high = load<Half>(reinterpret_cast<const char*>(&v) + bytes / 2);
    return is_any_set<bytes / 2>(load<Half>(&v) | high);
  }
}

// The finite values of a side.
template <class Keys>
struct Side {
  using Order = typename Keys::Order;
  using Signed = typename IntegersOf<sizeof(typename Keys::Bits)>::Signed;
  static constexpr auto kMost = static_cast<Signed>((uint64_t{1} << (8 * sizeof(Signed) - 1)) - 1);
  static constexpr auto kLeast = static_cast<Signed>(-kMost - 1);
  static constexpr int kCount = kVectorBytes / sizeof(Signed);

  Order least = Order{} + kMost, greatest = Order{} + kLeast;
  Order saturated{};  // as masks are: negative; emptied before its lanes can overflow

  NPU_QUANT_INLINE void include(Order order) {
    least = min(order, least);
    greatest = max(order, greatest);
    saturated += Keys::saturated(order);
  }
  NPU_QUANT_INLINE void include(Order order, Order which) {
    least = min(which ? order : Order{} + kMost, least);
    greatest = max(which ? order : Order{} + kLeast, greatest);
    saturated += Keys::saturated(order) & which;
  }
  uint64_t take_saturated() {
    int64_t sum = 0;
    for (int i = 0; i < kCount; ++i) sum -= saturated[i];
    saturated = Order{};
    return static_cast<uint64_t>(sum);
  }
  void include_range(double& low, double& high) const {
    Signed first = kMost, last = kLeast;
    for (int i = 0; i < kCount; ++i) {
      first = least[i] < first ? least[i] : first;
      last = greatest[i] > last ? greatest[i] : last;
    }
    if (first > last) return;
    const double a = value(first), b = value(last);
    low = a < low ? a : low;
    high = b > high ? b : high;
  }

 private:
  // + 0, so that -0 is none.
  static double value(Signed order) {
    return Keys::value(U64{} + Keys::key_of_order(order))[0] + 0.0;
  }
};

template <class Keys>
class NumberComparer {
 public:
  explicit NumberComparer(const CompareNumbersKernel::Args& args)
      : args_(args), places_(args.places, args.begin, args.end) {}

  void run() {
    for (int64_t begin = args_.begin; begin < args_.end; begin += kCompareChunk) {
      const int64_t left = args_.end - begin;
      const int64_t count = left < kCompareChunk ? left : kCompareChunk;
      for (int64_t i = begin; i < begin + count; i += kElements) {
        const int64_t n = begin + count - i;
        if (n >= kElements && add_equal(at(args_.golden, i), at(args_.actual, i))) continue;
        add_mixed(i, n < kElements ? n : kElements);
      }
      finish_chunk(args_.sums[begin / kCompareChunk]);
    }
    differences_.finish(*args_.counts, *args_.extremes);
    CompareExtremes& e = *args_.extremes;
    equal_.include_range(e.actual_least, e.actual_greatest);
    actual_.include_range(e.actual_least, e.actual_greatest);
    equal_.include_range(e.golden_least, e.golden_greatest);
    golden_.include_range(e.golden_least, e.golden_greatest);
  }

 private:
  using Bits = typename Keys::Bits;
  using Order = typename Keys::Order;
  static constexpr int kTileBytes = 256;
  static constexpr int kElements = kTileBytes / sizeof(Bits);
  static constexpr int kVectors = kTileBytes / kVectorBytes;
  static_assert(kElements <= kMostAtOnce);

  static const char* at(const char* data, int64_t i) {
    return data + i * static_cast<int64_t>(sizeof(Bits));
  }

  NPU_QUANT_INLINE bool add_equal(const char* golden, const char* actual) {
    Order bad{};
    for (int v = 0; v < kVectors; ++v) {
      const Order g = load<Order>(golden + v * kVectorBytes);
      bad |= g ^ load<Order>(actual + v * kVectorBytes);
      if constexpr (Keys::kIsFloat) bad |= ~Keys::finite(g);
    }
    if (is_any_set<kVectorBytes>(bit_cast<U64>(bad))) return false;
    for (int v = 0; v < kVectors; ++v)
      equal_.include(Keys::order(load<Order>(golden + v * kVectorBytes)));
    add_squares(golden);
    return true;
  }

  NPU_QUANT_INLINE void add_squares(const char* tile) {
    using Narrow = Vec<Bits, kDoubles * sizeof(Bits)>;
    for (int i = 0; i < kElements; i += kDifferenceLanes)
      for (int part = 0; part < kParts; ++part) {
        const Narrow bits = load<Narrow>(at(tile, i + part * kDoubles));
        const F64 value = Keys::magnitude(__builtin_convertvector(bits, U64));
        squares_.part[part] += value * value;
      }
  }

  // n elements, at most a tile, of which some differ or are not finite.
  __attribute__((noinline)) void add_mixed(int64_t first, int64_t n) {
    alignas(64) Bits actual[kElements] = {}, golden[kElements] = {}, plain[kElements];
    std::memcpy(actual, at(args_.actual, first), static_cast<size_t>(n) * sizeof(Bits));
    std::memcpy(golden, at(args_.golden, first), static_cast<size_t>(n) * sizeof(Bits));
    const bool is_finite = add_plain(actual, golden, plain, n);
    int others = 0;
    uint8_t other[kElements];
    for (int i = 0; i < n; ++i) {
      other[others] = static_cast<uint8_t>(i);
      others += plain[i] == 0;
    }
    if constexpr (Keys::kIsFloat) {
      for (int i = 0; !is_finite && i < others; ++i)
        add_other(actual[other[i]], golden[other[i]], first + other[i]);
      if (!is_finite) return;
    }
    differences_.add(actual, golden, other, others, args_.places.first + first);
    for (int i = 0; i < others; ++i) count_mismatch(first + other[i]);
  }

  // Those of a tile that are equal and finite: `plain` becomes their mask. Returns whether all
  // numbers are finite.
  NPU_QUANT_INLINE bool add_plain(const Bits* actual, const Bits* golden, Bits* plain, int64_t n) {
    constexpr int kCount = kVectorBytes / sizeof(Bits);
    alignas(64) Bits kept[kElements], valid[kElements];
    for (int i = 0; i < kElements; ++i) valid[i] = static_cast<Bits>(i < n ? ~Bits{} : Bits{});
    Order nonfinite{};
    for (int i = 0; i < kElements; i += kCount) {
      const Order a = load<Order>(actual + i), g = load<Order>(golden + i);
      const Order is_valid = load<Order>(valid + i);
      const Order a_finite = Keys::finite(a), g_finite = Keys::finite(g);
      nonfinite |= ~(a_finite & g_finite);
      actual_.include(Keys::order(a), a_finite & is_valid);
      golden_.include(Keys::order(g), g_finite & is_valid);
      const Order is_plain = (a == g) & g_finite & is_valid;
      store(plain + i, is_plain);
      store(kept + i, g & is_plain);
    }
    add_squares(reinterpret_cast<const char*>(kept));
    return !is_any_set<kVectorBytes>(bit_cast<U64>(nonfinite));
  }

  NPU_QUANT_INLINE void add_other(Bits a, Bits g, int64_t i) {
    if (kind_of(a) + kind_of(g) != 0) return add_nonfinite(a, g, i);
    const uint8_t only = 0;
    differences_.add(&a, &g, &only, 1, args_.places.first + i);
    count_mismatch(i);
  }

  NPU_QUANT_INLINE void count_mismatch(int64_t i) {
    CompareCounts& counts = *args_.counts;
    const auto element = static_cast<uint64_t>(args_.places.first + i);
    ++counts.mismatches;
    if (element < counts.first) counts.first = element;
    places_.count(i);
  }

  // 0 of finite ones, and as CompareCounts::kinds has them.
  static NPU_QUANT_INLINE int kind_of(Bits bits) {
    const uint64_t magnitude = bits & Keys::kMagnitude;
    if (magnitude < Keys::kInfinity) return 0;
    return magnitude > Keys::kInfinity ? 1 : bits == magnitude ? 2 : 3;
  }

  __attribute__((noinline)) void add_nonfinite(Bits a, Bits g, int64_t i) {
    ++args_.counts->kinds[kind_of(a)][kind_of(g)];
    if (kind_of(a) == kind_of(g)) return;
    count_mismatch(i);
    differences_.include_worst(*args_.counts, ~uint64_t{0},
                               static_cast<uint64_t>(args_.places.first + i));
  }

  void finish_chunk(CompareSums& sums) {
    sums = {};
    sums.equal_squares = squares_.total();
    squares_ = {};
    differences_.finish_chunk(sums);
    const uint64_t both = equal_.take_saturated();
    args_.counts->saturated_actual += both + actual_.take_saturated();
    args_.counts->saturated_golden += both + golden_.take_saturated();
  }

  const CompareNumbersKernel::Args args_;
  PlaceCounter places_;
  LaneSums squares_;
  Side<Keys> equal_, actual_, golden_;
  Differences<Keys> differences_;
};

}  // namespace
}  // namespace npu_quant
