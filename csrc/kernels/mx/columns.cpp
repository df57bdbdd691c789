// npu_dynamic_mx_quant along columns (docs/numerics.md 14):
//   amax = max|x|     b by the rule     y = code(x * 2^(127 - b))
// or along both axes, in tiles: then all columns of a tile have its amax.
//
// A strip of columns, so wide that a block's rows of it stay in a cache: block by block it is
// reduced and, while memory is asked for the next one, encoded; two blocks for each pair of bytes.
#include "kernels/mx/blocks.h"

namespace npu_quant {
namespace {

constexpr int64_t kStripBytes = 128 << 10;  // of x, half of an L2 or less
constexpr int64_t kMostColumns = 2048;
constexpr int64_t kRowsFetched = 32;  // where x has to be gathered

template <class In, class Code>
class MxColumns {
  static constexpr int64_t kRowsInTurn = 8;  // for which maxima are loaded and stored once

 public:
  MxColumns(const DynamicMxArgs& args, const Code& code)
      : args_(args),
        code_(code),
        x_(args.x, kItem, x_buffer_),
        y_(args.y, 1, y_buffer_, args.stream, args.y.row_stride % kVectorBytes != 0),
        is_in_rows_(x_.is_direct() && (!y_.is_wanted() || args.y.stride == 1)) {}

  void run() {
    const int64_t fitting = kStripBytes / (kItem * args_.block) / kTile * kTile;
    together_ = is_in_rows_ ? args_.block : kRowsFetched;
    width_ = is_in_rows_ ? least(most(fitting, kTile), kMostColumns)
                         : kBufferBytes / (kItem * kRowsFetched);
    // Where y is streamed, all strips but the first begin at a vector of it; no tile is cut.
    const int64_t head = y_.takes_streams() && !args_.in_tiles
                             ? kPacked * elements_to_alignment(args_.y.data, 1, kVectorBytes)
                             : 0;
    for (int64_t i = 0, n = head > 0 ? head : width_; i < args_.n; i += n, n = width_)
      for (int64_t row = 0; row < args_.rows; row += 2 * args_.block)
        quantize_pair(row, i, least(args_.n - i, n));
    if (args_.stream) stream_fence();
  }

 private:
  using Storage = typename In::Storage;
  static constexpr int64_t kItem = sizeof(Storage);
  static constexpr int64_t kPacked = kMxCodesPerByte<Code>;

  void quantize_pair(int64_t row, int64_t i, int64_t n) {
    for (int lane = 0; lane < 2; ++lane, row += args_.block) {
      const int64_t rows = most(0, least(args_.rows - row, args_.block));
      reduce(row, rows, i, n);
      if (args_.in_tiles) join_columns(n);
      find_bytes(n, lane);
      if (args_.in_tiles) put_row_bytes(row, rows, i, n, lane);
      if (y_.is_wanted()) encode(row, rows, i, n, lane);
      if (rows == 0) std::memset(bytes_[lane], 0, sizeof bytes_[lane]);
    }
    put_bytes(args_.scales.from(i, (row - 1) / (2 * args_.block)), n);
  }

  const Storage* x_at(int64_t row, int64_t i) const {
    return reinterpret_cast<const Storage*>(x_.at(row, i));
  }

  __attribute__((noinline)) void reduce(int64_t row, int64_t rows, int64_t i, int64_t n) {
    const int64_t cells = ceil_div(n, kMxCell);
    for (int64_t t = 0; t * kTile < cells * kMxCell; ++t) amax_[t] = {};
    for (int64_t r = 0; r < rows; r += together_) {
      const int64_t some = least(rows - r, together_);
      x_.fetch(row + r, some, i, n, width_);
      for (int64_t s = 0; s < some; s += kRowsInTurn)
        include(row + r + s, least(some - s, kRowsInTurn), i, n);
    }
  }
  // A few rows.
  NPU_QUANT_INLINE void include(int64_t row, int64_t rows, int64_t i, int64_t n) {
    for (int64_t t = 0; t * kTile < n; ++t) {
      const int64_t left = n - t * kTile;
      auto amax = amax_[t];
      for (int64_t r = row; r < row + rows; ++r) {
        const Storage* const x = x_at(r, i) + t * kTile;
        In::include(amax, left < kTile ? Padded<Storage>(x, left).values : x);
      }
      amax_[t] = amax;
    }
  }

  // Those of a cell get the greatest of theirs.
  void join_columns(int64_t n) {
    using Int = typename In::Amax::Bits;
    using Vector = Vec<Int>;
    constexpr int64_t kCount = kVectorBytes / sizeof(Int);  // of a vector
    auto* const amax = reinterpret_cast<char*>(amax_);
    for (int64_t c = 0; c < n; c += kMxCell) {
      char* const cell = amax + c * int64_t{sizeof(Int)};
      Vector all{};
      for (int64_t i = 0; i < kMxCell / kCount; ++i)
        all = max(all, load<Vector>(cell + i * kVectorBytes));
      all = Vector{} + horizontal_max<Int, kVectorBytes>(all);
      for (int64_t i = 0; i < kMxCell / kCount; ++i) store(cell + i * kVectorBytes, all);
    }
  }

  __attribute__((noinline)) void find_bytes(int64_t n, int lane) {
    I32 greatest{};
    for (int64_t t = 0; t * kTile < n; ++t) {
      const Tile amax = In::load_mixed(reinterpret_cast<const Storage*>(amax_ + t));
      I32 bytes[4];
      for (int p = 0; p < 4; ++p) {
        bytes[p] = mx_bytes(args_.rule, amax.part[p]);
        factors_[t][p] = mx_factors(bytes[p]);
        greatest = max(greatest, bytes[p]);
      }
      store(bytes_[lane] + t * kTile, In::pack(bytes));
    }
    has_special_ = horizontal_max<int32_t, kVectorBytes>(greatest) == kMxSpecial;
  }

  __attribute__((noinline)) void encode(int64_t row, int64_t rows, int64_t i, int64_t n, int lane) {
    const int64_t together = is_in_rows_ ? 1 : together_;  // that y's buffer holds
    for (int64_t r = 0; r < rows; r += together) {
      const int64_t some = least(rows - r, together);
      if (rows > together) x_.fetch(row + r, some, i, n, width_);
      for (int64_t s = 0; s < some; ++s) {
        char* const y = y_.at(row + r + s, i / kPacked);
        encode_row(x_at(row + r + s, i), n, y + (y_.is_direct() ? 0 : s * width_ / kPacked), lane);
      }
      y_.put(row + r, i / kPacked, n / kPacked, some, width_ / kPacked);
    }
  }
  // While memory is asked for the same row of the next block.
  NPU_QUANT_INLINE void encode_row(const Storage* x, int64_t n, char* y, int lane) {
    const Stores stores{y_.takes_streams() && is_vector_aligned(y)};
    const auto ahead = static_cast<uintptr_t>(args_.block * args_.x.row_stride);
    int64_t t = 0;
    for (; (t + 1) * kTile <= n; ++t) {
      prefetch_values(CacheLevel::second, x + t * kTile, ahead, kTile);
      stores.put(y + t * kTile / kPacked, codes_at(x + t * kTile, t, lane));
    }
    const int64_t left = n - t * kTile;
    if (left == 0) return;
    const auto codes = codes_at(Padded<Storage>(x + t * kTile, left).values, t, lane);
    std::memcpy(y + t * kTile / kPacked, &codes, static_cast<size_t>(left / kPacked));
  }
  NPU_QUANT_INLINE auto codes_at(const Storage* x, int64_t t, int lane) const {
    I8 codes = mx_codes<In>(code_, x, factors_[t]);
    if (__builtin_expect(has_special_, false))
      codes &= load<I8>(bytes_[lane] + t * kTile) != static_cast<int8_t>(kMxSpecial);
    return mx_packed<Code>(codes);
  }

  void put_bytes(const MxScales& to, int64_t n) const {
    if (to.data == nullptr) return;
    for (int64_t c = 0; c < n; ++c)
      for (int lane = 0; lane < 2; ++lane)
        to.data[c * to.row_stride + lane * to.lane_stride] = static_cast<char>(bytes_[lane][c]);
  }

  // The bytes of tiles, for each of their rows.
  void put_row_bytes(int64_t row, int64_t rows, int64_t i, int64_t n, int lane) const {
    const MxScales to = args_.row_scales.from(row, i / (2 * kMxCell));
    if (to.data == nullptr) return;
    for (int64_t c = 0; c < n; c += 2 * kMxCell) {
      char* const pair = to.from(0, c / (2 * kMxCell)).data;
      const uint8_t* const bytes = bytes_[lane] + c;
      const uint8_t other = c + kMxCell < n ? bytes[kMxCell] : uint8_t{0};
      for (int64_t r = 0; r < rows; ++r) {
        pair[r * to.row_stride] = static_cast<char>(bytes[0]);
        pair[r * to.row_stride + to.lane_stride] = static_cast<char>(other);
      }
    }
  }

  const DynamicMxArgs& args_;
  const Code code_;
  Source x_;
  Sink y_;
  const bool is_in_rows_;  // both
  int64_t together_ = 0, width_ = 0;
  bool has_special_ = false;
  union {  // as many are made as there are columns
    typename In::Amax amax_[kMostColumns / kTile];
  };
  F32 factors_[kMostColumns / kTile][4];
  alignas(64) uint8_t bytes_[2][kMostColumns];
  Buffer<> x_buffer_, y_buffer_;
};

}  // namespace

template <>
void MxColumnsKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float(args.dtype, args.x.data, args.x.row_stride, false, [&](auto in) {
    visit_mx_code(args.format, args.rounding,
                  [&](auto code) { MxColumns<decltype(in), decltype(code)>(args, code).run(); });
  });
}

}  // namespace npu_quant
