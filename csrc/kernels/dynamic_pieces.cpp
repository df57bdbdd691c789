// The dynamic quantizers where the fast loops do not go (docs/numerics.md 2): arrays of any
// strides, rows shorter than a vector, factors for the elements of a row, scales alone.
//   v = x * smooth     amax = max|v|     scale = amax / 127     y = rint(v / scale)
#include "kernels/dynamic_quant.h"
#include "kernels/reduce_encode.h"

namespace npu_quant {
namespace {

constexpr int64_t kMostRows = 64;
constexpr int64_t kMostProducts = 8192;

// A tile of v = x * smooth, one fp32 rounding (exact for 16-bit x, overflow and underflow aside),
// or of v = x.
template <class In, bool smooths>
NPU_QUANT_INLINE void widen_tile(const typename In::Storage* x, const Unaligned<float>* smooth,
                                 float* v) {
  const Tile tile = In::load(x);
  for (int p = 0; p < 4; ++p) {
    const int at = p * kLanes;
    store(v + at, smooths ? tile.part[p] * load<F32>(smooth + at) : tile.part[p]);
  }
}

// n values, and what is left of a tile after them.
template <class In, bool smooths>
__attribute__((noinline)) void widen(const char* from, const Unaligned<float>* smooth, int64_t n,
                                     float* v) {
  const auto* const x = reinterpret_cast<const typename In::Storage*>(from);
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) widen_tile<In, smooths>(x + i, smooth + i, v + i);
  if (i == n) return;
  const Padded end(x + i, n - i);
  float factors[kTile] = {};
  if (smooths) std::memcpy(factors, smooth + i, static_cast<size_t>(n - i) * sizeof(float));
  widen_tile<In, smooths>(end.values, unaligned(factors), v + i);
}

void widen(DType dtype, const char* x, const Unaligned<float>* smooth, int64_t n, float* v) {
  visit_float_with<WholeLoads>(dtype, [&](auto in) {
    using In = decltype(in);
    smooth != nullptr ? widen<In, true>(x, smooth, n, v) : widen<In, false>(x, nullptr, n, v);
  });
}

// In is what is reduced and encoded: x as it comes, or float32 products of x and smooth.
template <class In>
class Pieces {
 public:
  explicit Pieces(const DynamicArgs& args)
      : args_(args),
        item_(size_of(args.dtype)),
        x_(args.x, item_, buffers_[0]),
        y_(args.y, 1, buffers_[1], args.stream) {}

  void run() {
    int64_t rows = 0;
    for (int64_t row = 0; row < args_.rows; row += rows) {
      const int64_t together = least(most(x_.rows_together(), y_.rows_together(row)),
                                     capacity() / most(1, least(args_.n, kMostGroup)));
      rows = least(args_.rows - row, together);
      width_ = width(together);
      if (args_.group < args_.n && reads_in_place() && y_.shares_lines())
        quantize_shared_groups(row, rows);
      else if (args_.group < args_.n)
        quantize_groups(row, rows);
      else
        quantize_rows(row, rows);
    }
    if (args_.stream) stream_fence();
  }

 private:
  using Storage = typename In::Storage;
  static constexpr int64_t kMostGroup = DynamicBlockQuantKernel::kBlock;  // of several in a row

  bool reads_in_place() const { return args_.smooth.data == nullptr && x_.is_direct(); }

  // Elements that the buffers hold, those of all rows together.
  int64_t capacity() const {
    const int64_t read = x_.is_direct() ? kBufferBytes : kBufferBytes / item_;
    return args_.smooth.data != nullptr ? least(read, kMostProducts) : read;
  }

  // Elements of a piece: whole groups, if a row has several.
  int64_t width(int64_t together) const {
    if (reads_in_place() && (y_.is_direct() || !y_.is_wanted())) return args_.n;
    const int64_t buffered = capacity() / together;
    return least(args_.n, args_.group < args_.n ? buffered / args_.group * args_.group : buffered);
  }

  // Pieces hold whole groups: each is read once.
  void quantize_groups(int64_t row, int64_t rows) {
    const int64_t some = kLanes * args_.group;
    for (int64_t i = 0; i < args_.n; i += width_) {
      const int64_t count = least(args_.n - i, width_);
      fetch(row, rows, i, count);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t at = 0; at < count; at += some) {
          auto* const y = y_.is_wanted() ? codes_at(row + r, i, r) + at : nullptr;
          quantize_some_groups<In>(args_, values(row, r, i) + at, least(count - at, some), y,
                                   row + r, (i + at) / args_.group);
        }
      y_.put(row, i, count, rows, width_);
    }
  }

  // Codes of rows that share cache lines: the scales of kLanes groups of each row, which are read
  // from memory line by line, then their codes in narrow pieces of all rows.
  void quantize_shared_groups(int64_t row, int64_t rows) {
    const int64_t some = kLanes * args_.group;
    for (int64_t first = 0; first < args_.n; first += some) {
      const int64_t end = least(first + some, args_.n);
      for (int64_t r = 0; r < rows; ++r)
        of_groups_[r] = scale_some_groups<In>(args_, values(row, r, first), end - first, row + r,
                                              first / args_.group);
      for (int64_t i = first; i < end; i += width_) {
        const int64_t count = least(end - i, width_);
        for (int64_t r = 0; r < rows; ++r) {
          prefetch_values(prefetch_level(), values(row, r, i), static_cast<uintptr_t>(some * item_),
                          count);
          encode_some_groups<In>(args_, of_groups_[r], (i - first) / args_.group, values(row, r, i),
                                 count, codes_at(row + r, i, r));
        }
        y_.put(row, i, count, rows, width_);
      }
    }
  }

  // A group is a row: it is read twice, unless a piece holds it.
  void quantize_rows(int64_t row, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) amax_[r] = 0;
    const int64_t reduced = reads_in_place() ? args_.n : width_;
    for (int64_t i = 0; i < args_.n; i += reduced) {
      const int64_t count = least(args_.n - i, reduced);
      fetch(row, rows, i, count);
      for (int64_t r = 0; r < rows; ++r) {
        typename In::Amax amax;
        reduce<In>(values(row, r, i), count, amax);
        amax_[r] = amax.bits() > amax_[r] ? amax.bits() : amax_[r];
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      dividers_[r] =
          divider_of<In, int32_t>(args_.rule, args_.most_scale, In::Amax::value(amax_[r]));
      store_scale(args_.scale, row + r, 0, dividers_[r].scale);
    }
    for (int64_t i = 0; i < args_.n && y_.is_wanted(); i += width_) {
      const int64_t count = least(args_.n - i, width_);
      if (width_ < args_.n) fetch(row, rows, i, count);
      for (int64_t r = 0; r < rows; ++r) encode_piece(dividers_[r], row, rows, r, i, count);
      y_.put(row, i, count, rows, width_);
    }
  }

  // Meanwhile memory is asked for the same piece of the rows to come, where it is read in place.
  void encode_piece(const Divider<float, int32_t>& divider, int64_t row, int64_t rows, int64_t r,
                    int64_t i, int64_t count) {
    const int64_t next = least(row + r + rows, args_.rows - 1);
    const AskFor ask{x_.at(x_.is_direct() ? next : row + r, i), item_, prefetch_level()};
    const Storage* const v = values(row, r, i);
    auto* const y = codes_at(row + r, i, r);
    with_encoder<In>(divider, [&](auto encoder) {
      if (args_.stream && y_.is_direct())
        encode<true, In>(v, count, y, encoder, ask);
      else
        encode<In>(v, count, y, encoder);
    });
  }

  void fetch(int64_t row, int64_t rows, int64_t i, int64_t count) {
    x_.fetch(row, rows, i, count, width_);
    if (args_.smooth.data == nullptr) return;
    for (int64_t r = 0; r < rows; ++r)
      widen(args_.dtype, x_.at(row + r, i), parameter_at(args_.smooth, 0, i), count,
            products_ + r * width_);
  }

  const Storage* values(int64_t row, int64_t r, int64_t i) const {
    if (args_.smooth.data != nullptr)
      return reinterpret_cast<const Storage*>(products_ + r * width_);
    return reinterpret_cast<const Storage*>(x_.at(row + r, i));
  }
  int8_t* codes_at(int64_t row, int64_t i, int64_t r) {
    return reinterpret_cast<int8_t*>(y_.at(row, i, r * width_));
  }

  const DynamicArgs& args_;
  int64_t item_;
  Source x_;
  Sink y_;
  int64_t width_ = 0;
  typename In::Amax::Bits amax_[kMostRows];
  Divider<float, int32_t> dividers_[kMostRows];
  GroupDividers of_groups_[kMostRows];
  alignas(64) float products_[kMostProducts + kTile];
  Buffer<> buffers_[2];
};

// Rows of a few elements, as many at a time as kTogether holds: their values one after the other,
// and a scale for each value.
//
//   n = 3:  v      v0 v1 v2   v3 v4 v5   ...        a row's amax is that of three values;
//           scale  s0 s0 s0   s1 s1 s1   ...        the division is that of a tile
class ShortRows {
 public:
  explicit ShortRows(const DynamicArgs& args)
      : args_(args),
        x_(args.x, size_of(args.dtype), buffers_[0]),
        y_(args.y, 1, buffers_[1], false) {
    x_.join(args.n);
    y_.join(args.n);
    if (args.smooth.data != nullptr)
      join_parameters(args.smooth, 0, kTogether / args.n, args.n, smooth_);
  }

  void run() {
    const int64_t together = kTogether / args_.n;
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together), count = rows * args_.n;
      x_.fetch(row, rows, 0, args_.n, args_.n);
      widen(args_.dtype, x_.at(row, 0), args_.smooth.data != nullptr ? unaligned(smooth_) : nullptr,
            count, values_);
      reduce_rows(row, rows);
      if (!y_.is_wanted()) continue;
      encode_values(count);
      std::memcpy(y_.at(row, 0), codes_, static_cast<size_t>(count));
      y_.put(row, 0, args_.n, rows, args_.n);
    }
  }

 private:
  static constexpr int64_t kTogether = 512;

  void reduce_rows(int64_t row, int64_t rows) {
    alignas(64) int32_t amax[kTogether + kLanes];
    const auto* v = reinterpret_cast<const Unaligned<int32_t>*>(values_);
    for (int64_t r = 0; r < rows; ++r) {
      int32_t bits = 0;
      for (int64_t i = 0; i < args_.n; ++i, ++v)
        bits = static_cast<int32_t>(most(bits, v->value & 0x7fffffff));
      amax[r] = bits;
    }
    float* scale = scales_;
    for (int64_t r = 0; r < rows; r += kLanes) {
      alignas(64) float lanes[kLanes];
      store(lanes, scale_of(args_.rule, args_.most_scale, AmaxFloat32::values(amax + r)));
      for (int64_t lane = 0; lane < least(rows - r, kLanes); ++lane) {
        store_scale(args_.scale, row + r + lane, 0, lanes[lane]);
        for (int64_t i = 0; i < args_.n; ++i) *scale++ = lanes[lane];
      }
    }
  }

  void encode_values(int64_t count) {
    for (int64_t i = 0; i < count; i += kTile) {
      I32 code[4];
      for (int p = 0; p < 4; ++p) {
        const int64_t at = i + p * kLanes;
        code[p] = Int8::of(zero_for_nan(load<F32>(values_ + at) / load<F32>(scales_ + at)));
      }
      store(codes_ + i, low_bytes(code));
    }
  }

  const DynamicArgs& args_;
  Source x_;
  Sink y_;
  alignas(64) float smooth_[kTogether];
  alignas(64) float values_[kTogether + kTile];
  alignas(64) float scales_[kTogether + kTile] = {};
  alignas(64) int8_t codes_[kTogether + kTile];
  Buffer<kTogether * 4> buffers_[2];
};

}  // namespace

template <>
void DynamicPiecesKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (args.is_short()) return run_apart<ShortRows>(args);
  if (args.smooth.data != nullptr) return run_apart<Pieces<Float32<WholeLoads>>>(args);
  visit_float_with<WholeLoads>(args.dtype, [&](auto in) { run_apart<Pieces<decltype(in)>>(args); });
}

}  // namespace npu_quant
