// npu_anti_mx_quant (docs/numerics.md 15):
//   y = c * 2^(b - 127)      c: the number that x's code stands for, b: its block's byte
//
// Pieces of rows, beside a scale for each of their elements. Where x or y does not lie in rows,
// those of 32 pass together.
#include "kernels/anti_mx_quant.h"

#include "kernels/mx_blocks.h"

namespace npu_quant {
namespace {

// 2^(b - 127), of 0 a subnormal number, of 255 NaN.
NPU_QUANT_INLINE F32 mx_powers(I32 bytes) {
  const I32 bits = max(bytes << 23, I32{} + (1 << 22));
  return bit_cast<F32>(bytes == kMxSpecial ? I32{} + kQuietNaNBits : bits);
}

template <class Out, class Code>
class Numbers {
 public:
  explicit Numbers(const AntiMxKernel::Args& args)
      : args_(args),
        x_(args.x, 1, x_buffer_),
        y_(args.y, kItem, y_buffer_, args.stream, !is_aligned(args.y)),
        lies_in_rows_(x_.is_direct() && args.y.stride == kItem),
        width_(lies_in_rows_ ? kPiece : kBufferBytes / (kMxCell * kItem)),
        ahead_(args.is_in_rows ? 6 << 10 : static_cast<uintptr_t>(args.x.row_stride)) {}

  void run() {
    if (is_short()) return run_short();
    const int64_t together = lies_in_rows_ && args_.is_in_rows ? 1 : kMxCell;
    for (int64_t row = 0; row < args_.rows; row += together)
      for (int64_t i = 0; i < args_.n; i += width_)
        find_numbers(row, least(args_.rows - row, together), i, least(args_.n - i, width_));
    if (args_.stream) stream_fence();
  }

 private:
  using Storage = typename Out::Storage;
  static constexpr int64_t kItem = sizeof(Storage), kPacked = kMxCodesPerByte<Code>;

  // Rows of one block that follow on each other are one row, with a scale for each of its elements.
  bool is_short() const {
    return args_.is_in_rows && args_.n <= kMxCell && lies_in_rows_ && y_.is_direct() &&
           args_.x.row_stride == args_.n / kPacked && args_.y.row_stride == args_.n * kItem;
  }
  void run_short() {
    const int64_t together = kPiece / most(args_.n, 1);
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together);
      float* scale = scales_;
      for (int64_t r = row; r < row + rows; ++r) {
        const auto byte = static_cast<uint8_t>(*args_.scales.from(r, 0).data);
        const float power = mx_powers(I32{} + byte)[0];
        for (int64_t i = 0; i < args_.n; ++i) *scale++ = power;
      }
      decode(x_.at(row, 0), rows * args_.n, y_.at(row, 0));
    }
    if (args_.stream) stream_fence();
  }

  // Of rows of one block, where blocks lie across them.
  void find_numbers(int64_t row, int64_t rows, int64_t i, int64_t n) {
    x_.fetch(row, rows, i / kPacked, n / kPacked, width_ / kPacked);
    if (!args_.is_in_rows) find_of_columns(row, i, n);
    for (int64_t r = 0; r < rows; ++r) {
      if (args_.is_in_rows) find_of_row(row + r, i, n);
      char* const y = y_.at(row + r, i);
      const bool is_in_place = lies_in_rows_ || y_.is_direct();
      decode(x_.at(row + r, i / kPacked), n, is_in_place ? y : y + r * width_ * kItem);
      if (lies_in_rows_) y_.put(row + r, i, n);
    }
    if (!lies_in_rows_) y_.put(row, i, n, rows, width_);
  }

  void find_of_row(int64_t row, int64_t i, int64_t n) {
    const MxScales& scales = args_.scales;
    const char* const bytes = scales.from(row, 0).data;
    for (int64_t at = 0; at < n; at += kMxCell) {
      const int64_t b = (i + at) / kMxCell;
      const char byte = bytes[b / 2 * scales.pair_stride + b % 2 * scales.lane_stride];
      const F32 scale = mx_powers(I32{} + static_cast<uint8_t>(byte));
      for (int64_t lane = 0; lane < kMxCell; lane += kLanes) store(scales_ + at + lane, scale);
    }
  }
  void find_of_columns(int64_t row, int64_t i, int64_t n) {
    const int64_t b = row / kMxCell, stride = args_.scales.row_stride;
    const char* const from = args_.scales.from(i, b / 2).data + b % 2 * args_.scales.lane_stride;
    for (int64_t c = 0; c < n; ++c) codes_[c] = from[c * stride];
    for (int64_t c = 0; c < n; c += kLanes)
      store(scales_ + c, mx_powers(widen_bytes(reinterpret_cast<const uint8_t*>(codes_) + c)));
  }

  void decode(const char* codes, int64_t n, char* to) {
    const uintptr_t ahead = reinterpret_cast<uintptr_t>(codes) + ahead_;
    if constexpr (kPacked == 2) {
      unpack_nibbles(codes, n, codes_);
      codes = codes_;
    }
    const auto* const c = reinterpret_cast<const uint8_t*>(codes);
    auto* const y = reinterpret_cast<Storage*>(to);
    const Stores stores{y_.takes_streams() && is_vector_aligned(to)};
    int64_t t = 0;
    for (; t + kTile <= n; t += kTile) {
      prefetch(ahead + static_cast<uintptr_t>(t / kPacked));
      Out::put(y + t, numbers_at(c + t, scales_ + t), stores);
    }
    if (t == n) return;
    alignas(64) Storage end[kTile];
    const Padded codes_left(c + t, n - t);
    const Padded scales_left(scales_ + t, n - t);
    Out::put(end, numbers_at(codes_left.values, scales_left.values), Stores{false});
    std::memcpy(y + t, end, static_cast<size_t>((n - t) * kItem));
  }
  static NPU_QUANT_INLINE Tile numbers_at(const uint8_t* codes, const float* scales) {
    Tile v;
    for (int p = 0; p < 4; ++p)
      v.part[p] = Code::value(widen_bytes(codes + p * kLanes)) * load<F32>(scales + p * kLanes);
    return v;
  }

  const AntiMxKernel::Args& args_;
  Source x_;
  Sink y_;
  const bool lies_in_rows_;  // x and y
  const int64_t width_;
  const uintptr_t ahead_;  // of codes, which are asked for
  alignas(64) float scales_[kPiece];
  alignas(64) char codes_[kPiece];
  Buffer<> x_buffer_, y_buffer_;
};

}  // namespace

template <>
void AntiMxKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_with<WholeLoads>(args.y_dtype, [&](auto out) {
    visit_mx_code(args.format, MxRounding::rint,
                  [&](auto code) { run_apart<Numbers<decltype(out), decltype(code)>>(args); });
  });
}

}  // namespace npu_quant
