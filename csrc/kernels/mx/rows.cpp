// npu_dynamic_mx_quant along rows (docs/numerics.md 14):
//   amax = max|x|     b by the rule     y = code(x * 2^(127 - b))
//
// A span of a row, of blocks that make up to kMostCells cells, is reduced cell by cell, then
// encoded from cache.
#include "kernels/mx/blocks.h"
#include "kernels/rows/strips.h"
#include "simd/result_stream.h"

namespace npu_quant {
namespace {

constexpr int64_t kMostCells = 32;  // of 32 elements: a block of 1024, or 32 of 32
// A span is reduced as soon as it has come, so it is asked for into L1, and not too far ahead: on a
// Zen 4 that takes 0.83 of the time of L2, and 6 KiB 1.4 times that of 3 KiB on a Xeon with AMX.
constexpr CacheLevel kPrefetch = CacheLevel::first;
constexpr uintptr_t kAhead = 3 << 10;  // bytes of x

// The greatest magnitudes of cells, as bits.
template <class In>
struct Cells {
  using Int = typename In::Amax::Bits;
  using Vector = Vec<Int>;
  using Storage = typename In::Storage;
  static constexpr int64_t kCount = kVectorBytes / sizeof(Int);  // of a vector

  static NPU_QUANT_INLINE Int of_one(const Storage* x, int64_t n) {
    const Vector all = n < kMxCell ? in_lanes(Padded<Storage, kMxCell>(x, n).values) : in_lanes(x);
    return horizontal_max<Int, kVectorBytes>(all);
  }
  // Of kCount cells: pairs of lanes are zipped and their greater ones kept, until one vector is
  // left; first 16 bytes by 16 bytes, then these.
  //
  //   a0 a1 a2 a3        a02 b02 a13 b13        a b c d
  //   b0 b1 b2 b3   ->   c02 d02 c13 d13   ->
  static NPU_QUANT_INLINE Vector of_many(const Storage* x) {
    constexpr int n = 16 / sizeof(Int), kParts = kVectorBytes / 16;
    constexpr typename MakeIndices<kCount>::type kAll{};
    Vector parts[kParts];
    for (int part = 0; part < kParts; ++part) {
      Vector v[n];
      for (int i = 0; i < n; ++i) v[i] = in_lanes(x + (part * n + i) * kMxCell);
      for (int half = n / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
          v[i] = max(zip<false, Int, kVectorBytes>(v[i], v[i + half], kAll),
                     zip<true, Int, kVectorBytes>(v[i], v[i + half], kAll));
      parts[part] = v[0];
    }
    for (int half = kParts / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        parts[i] = max(every_other<0>(parts[2 * i], parts[2 * i + 1], kAll),
                       every_other<1>(parts[2 * i], parts[2 * i + 1], kAll));
    return parts[0];
  }

 private:
  static NPU_QUANT_INLINE Vector in_lanes(const Storage* x) {
    constexpr auto kMagnitude = static_cast<Int>(~(Int{1} << (8 * sizeof(Int) - 1)));
    Vector greatest = load<Vector>(x) & kMagnitude;
    for (int64_t i = kCount; i < kMxCell; i += kCount)
      greatest = max(greatest, load<Vector>(x + i) & kMagnitude);
    return greatest;
  }
  // Every other 16 bytes of two vectors, from one on.
  template <int first, int... i>
  static NPU_QUANT_INLINE Vector every_other(Vector a, Vector b, Indices<i...>) {
    constexpr int n = 16 / sizeof(Int);
    return __builtin_shufflevector(a, b, ((2 * (i / n) + first) * n + i % n)...);
  }
};

template <class In, class Code>
class MxRows {
 public:
  MxRows(const DynamicMxArgs& args, const Code& code)
      : args_(args),
        code_(code),
        x_(args.x, kItem, x_buffer_),
        y_(args.y, 1, y_buffer_, args.stream),
        span_(kMostCells * kMxCell / args.block * args.block),
        level_(prefetch_level(kPrefetch)),
        to_(args.stream && y_.is_direct(), args.y, args.n / kPacked) {}

  void run() {
    const bool is_direct = x_.is_direct() && (y_.is_direct() || !y_.is_wanted());
    const int64_t together =
        is_direct ? 1 : least(x_.rows_together(), kBufferBytes / (kItem * args_.block));
    const int64_t fitting = kBufferBytes / (kItem * together) / args_.block * args_.block;
    const int64_t width = is_direct ? args_.n : least(args_.n, fitting);
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together);
      for (int64_t i = 0; i < args_.n; i += width) {
        const int64_t n = least(args_.n - i, width);
        x_.fetch(row, rows, i, n, width);
        for (int64_t r = 0; r < rows; ++r) quantize(row + r, i, n, r * width);
        y_.put(row, i / kPacked, n / kPacked, rows, width / kPacked);
      }
    }
    to_.flush();
    if (args_.stream) stream_fence();
  }

 private:
  using Storage = typename In::Storage;
  static constexpr int64_t kItem = sizeof(Storage);
  static constexpr int64_t kPacked = kMxCodesPerByte<Code>;

  // Elements [i, i + n) of a row; in a buffer y has `place` codes before them.
  NPU_QUANT_INLINE void quantize(int64_t row, int64_t i, int64_t n, int64_t place) {
    const auto* const x = reinterpret_cast<const Storage*>(x_.at(row, i));
    char* const y = y_.at(row, i / kPacked) + (y_.is_direct() ? 0 : place / kPacked);
    for (int64_t first = 0; first < n; first += span_) {
      const int64_t count = least(n - first, span_);
      reduce(x + first, count);
      const int64_t blocks = find_bytes(count);
      put_bytes(row, (i + first) / args_.block, blocks);
      if (!y_.is_wanted()) continue;
      encode(x + first, count, to_.at(y + first / kPacked));
      to_.end(count / kPacked);
    }
  }

  NPU_QUANT_INLINE void reduce(const Storage* x, int64_t n) {
    int64_t cell = 0;
    for (; (cell + Cells<In>::kCount) * kMxCell <= n; cell += Cells<In>::kCount)
      store(amax_ + cell, Cells<In>::of_many(x + cell * kMxCell));
    for (int64_t i = cell * kMxCell; i < n; i += kMxCell, ++cell)
      amax_[cell] = Cells<In>::of_one(x + i, least(n - i, kMxCell));
  }

  // Of blocks, then of the cells that they are made of.
  NPU_QUANT_INLINE int64_t find_bytes(int64_t n) {
    const int64_t cells = ceil_div(n, kMxCell), of_block = args_.block / kMxCell;
    const int64_t blocks = ceil_div(cells, of_block);
    for (int64_t b = 0; of_block > 1 && b < blocks; ++b) {
      auto greatest = amax_[b * of_block];
      for (int64_t cell = b * of_block; cell < least((b + 1) * of_block, cells); ++cell)
        greatest = amax_[cell] > greatest ? amax_[cell] : greatest;
      amax_[b] = greatest;
    }
    I32 greatest{};
    for (int64_t b = 0; b < blocks; b += kTile) {
      const Tile amax = In::load(reinterpret_cast<const Storage*>(amax_ + b));
      I32 bytes[4];
      for (int p = 0; p < 4; ++p) {
        bytes[p] = mx_bytes(args_.rule, amax.part[p]);
        store(factors_ + b + p * kLanes, mx_factors(bytes[p]));
        greatest = max(greatest, bytes[p]);
      }
      store(bytes_ + b, low_bytes(bytes));
    }
    has_special_ = horizontal_max<int32_t, kVectorBytes>(greatest) == kMxSpecial;
    if (of_block > 1)
      for (int64_t cell = cells; cell-- > 0;) factors_[cell] = factors_[cell / of_block];
    return blocks;
  }

  NPU_QUANT_INLINE void put_bytes(int64_t row, int64_t block, int64_t blocks) {
    if (args_.scales.data == nullptr) return;
    const int64_t all = ceil_div(args_.n, args_.block);
    if (block + blocks == all && all % 2 == 1) bytes_[blocks++] = 0;
    const MxScales& to = args_.scales;
    char* const bytes = to.from(row, 0).data;
    if (to.lane_stride == 1 && to.pair_stride == 2)
      return static_cast<void>(std::memcpy(bytes + block, bytes_, static_cast<size_t>(blocks)));
    for (int64_t b = block; b < block + blocks; ++b)
      bytes[b / 2 * to.pair_stride + b % 2 * to.lane_stride] = static_cast<char>(bytes_[b - block]);
  }

  NPU_QUANT_INLINE void encode(const Storage* x, int64_t n, char* y) {
    int64_t i = 0;
    for (; i + kTile <= n; i += kTile) {
      prefetch_values(level_, x + i, kAhead, kTile);
      to_.put(y + i / kPacked, codes_at(x + i, i));
    }
    if (i < n) {
      const Padded end(x + i, n - i);
      const auto codes = codes_at(end.values, i);
      std::memcpy(y + i / kPacked, &codes, static_cast<size_t>((n - i) / kPacked));
    }
    if (__builtin_expect(has_special_, false)) clear_special(n, y);
  }
  // Codes of a tile from element i of the span on. Parts 0 and 1 are one half of it in any order.
  NPU_QUANT_INLINE auto codes_at(const Storage* x, int64_t i) const {
    F32 factors[4];
    for (int p = 0; p < 4; ++p)
      factors[p] = broadcast(factors_[(i + p / 2 * 2 * kLanes) / kMxCell]);
    return mx_packed<Code>(mx_codes<In>(code_, x, factors));
  }
  __attribute__((noinline)) void clear_special(int64_t n, char* y) const {
    for (int64_t i = 0; i < n; i += args_.block)
      if (bytes_[i / args_.block] == kMxSpecial)
        std::memset(y + i / kPacked, 0, static_cast<size_t>(least(n - i, args_.block) / kPacked));
  }

  const DynamicMxArgs& args_;
  const Code code_;
  Source x_;
  Sink y_;
  const int64_t span_;
  const CacheLevel level_;
  bool has_special_ = false;
  // Of the cells of a span, and up to whole tiles.
  alignas(64) typename In::Amax::Bits amax_[2 * kMostCells] = {};
  alignas(64) float factors_[2 * kMostCells];
  alignas(64) uint8_t bytes_[2 * kMostCells];
  ResultStream to_;
  Buffer<> x_buffer_, y_buffer_;
};

template <class In, class Code>
__attribute__((noinline)) void quantize(const DynamicMxArgs& args, const Code& code) {
  MxRows<In, Code>(args, code).run();
}
void quantize_directly(const DynamicMxArgs& args) {
  visit_float_with<WholeLoads>(args.dtype, [&](auto in) {
    visit_mx_code(args.format, args.rounding,
                  [&](const auto& code) { quantize<decltype(in)>(args, code); });
  });
}

// In strips of y, of whole pairs of blocks.
void quantize_transposed(const DynamicMxArgs& args) {
  int64_t packed = 0;
  visit_mx_code(args.format, args.rounding,
                [&](auto code) { packed = kMxCodesPerByte<decltype(code)>; });
  const int64_t pair = 2 * args.block;
  Strips<1> strips(args.rows, args.n / packed, kStripColumns / pair * pair, {args.y}, {1});
  if (!strips.has_memory()) return quantize_directly(args);
  strips.run(args.stream, [&](int64_t row, int64_t rows, int64_t i, int64_t n, const Strided* y) {
    DynamicMxArgs part = args;
    part.rows = rows;
    part.n = n * packed;
    part.x = args.x.from(row, i * packed);
    part.y = y[0];
    part.scales = args.scales.from(row, i * packed / pair);
    part.stream = false;
    quantize_directly(part);
  });
}

}  // namespace

template <>
void MxRowsKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  is_transposed(args.y) && args.n > 0 ? quantize_transposed(args) : quantize_directly(args);
}

}  // namespace npu_quant
