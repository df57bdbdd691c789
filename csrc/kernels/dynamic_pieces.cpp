// The dynamic quantizers where the fast loops do not go (docs/numerics.md 2): arrays of any
// strides, rows shorter than a vector, factors for the elements of a row, scales alone.
//   v = x * smooth     amax = max|v|     scale = amax / 127     y = rint(v / scale)
#include "kernels/dynamic_quant.h"
#include "kernels/reduce_encode.h"
#include "kernels/strips.h"

namespace npu_quant {
namespace {

constexpr int64_t kMostRows = rows_at_once(2);  // of a transposed x
constexpr int64_t kMostProducts = 8192;

// A tile of v = x * smooth, one fp32 rounding (exact for 16-bit x, overflow and underflow aside),
// or of v = x.
template <class In, bool smooths>
NPU_QUANT_INLINE void widen_tile(const typename In::Storage* x, const Unaligned<float>* smooth,
                                 float* v, AmaxFloat32& amax) {
  Tile tile = In::load(x);
  for (int p = 0; p < 4; ++p) {
    if (smooths) tile.part[p] *= load<F32>(smooth + p * kLanes);
    store(v + p * kLanes, tile.part[p]);
  }
  amax.include(tile);
}

// n values, and what is left of a tile after them. Returns the bits of their amax.
template <class In, bool smooths>
__attribute__((noinline)) int32_t widen(const char* from, const Unaligned<float>* smooth, int64_t n,
                                        float* v) {
  const auto* const x = reinterpret_cast<const typename In::Storage*>(from);
  AmaxFloat32 amax;
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) widen_tile<In, smooths>(x + i, smooth + i, v + i, amax);
  if (i < n) {
    const Padded end(x + i, n - i);
    float factors[kTile] = {};
    if (smooths) std::memcpy(factors, smooth + i, static_cast<size_t>(n - i) * sizeof(float));
    widen_tile<In, smooths>(end.values, unaligned(factors), v + i, amax);
  }
  return amax.bits();
}

int32_t widen(DType dtype, const char* x, const Unaligned<float>* smooth, int64_t n, float* v) {
  int32_t amax = 0;
  visit_float_with<WholeLoads>(dtype, [&](auto in) {
    using In = decltype(in);
    amax =
        smooth != nullptr ? widen<In, true>(x, smooth, n, v) : widen<In, false>(x, nullptr, n, v);
  });
  return amax;
}

// Products of a row of x and smooth, at least a tile of them, read in place.
template <class In>
struct Products {
  const typename In::Storage* x;
  const Unaligned<float>* smooth;

  NPU_QUANT_INLINE Tile at(int64_t i) const {
    Tile v = In::load(x + i);
    for (int p = 0; p < 4; ++p) v.part[p] *= load<F32>(smooth + i + p * kLanes);
    return v;
  }
};

// Codes of a row, while the next one is reduced, if there is one.
template <class In, class Encoder>
NPU_QUANT_INLINE AmaxFloat32 encode_products(Products<In> v, Products<In> next, int64_t n,
                                             int8_t* y, Encoder encoder, Stores stores) {
  constexpr uintptr_t kAhead = 6 << 10;
  const CacheLevel level = prefetch_level();
  const bool has_next = next.x != nullptr;
  AmaxFloat32 amax;
  int64_t i = 0;
  if (stores.stream) i = elements_to_alignment(reinterpret_cast<char*>(y), 1, kTile);
  if (i > 0) {
    put_part(encoder(v.at(0)), 0, 0, i, y);
    if (has_next) amax.include(next.at(0));
  }
  for (; i + kTile <= n; i += kTile) {
    if (stores.stream && has_next) prefetch_values(level, next.x + i, kAhead, kTile);
    stores.put(y + i, encoder(v.at(i)));
    if (has_next) amax.include(next.at(i));
  }
  if (i == n) return amax;
  put_part(encoder(v.at(n - kTile)), n - kTile, i, n, y);
  if (has_next) amax.include(next.at(n - kTile));
  return amax;
}

template <class In>
void quantize_products(const DynamicArgs& args) {
  using Product = Float32<WholeLoads>;
  const auto products = [&](int64_t row) {
    return Products<In>{x_of<In>(args, row), parameter_at(args.smooth, 0, 0)};
  };
  AmaxFloat32 amax;
  for (int64_t i = 0; i < args.n; i += kTile)
    amax.include(products(0).at(least(i, args.n - kTile)));
  for (int64_t row = 0; row < args.rows; ++row) {
    const auto divider =
        divider_of<Product, int32_t>(args.rule, args.most_scale, AmaxFloat32::value(amax.bits()));
    store_scale(args.scale, row, 0, divider.scale);
    with_encoder<Product>(divider, [&](auto encoder) {
      const auto next = row + 1 < args.rows ? products(row + 1) : Products<In>{};
      amax = encode_products(products(row), next, args.n, y_of(args, row), encoder,
                             Stores{args.stream});
    });
  }
  if (args.stream) stream_fence();
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
    const int64_t fitting = kBufferBytes / item_ / most(1, least(args_.n, kMostGroup));
    const int64_t together = least(x_.rows_together(), fitting);
    width_ = width(together);
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together);
      if (args_.group < args_.n)
        quantize_groups(row, rows);
      else
        quantize_rows(row, rows);
    }
    if (args_.stream) stream_fence();
  }

 private:
  using Storage = typename In::Storage;
  using Bits = typename In::Amax::Bits;
  static constexpr int64_t kMostGroup = DynamicBlockQuantKernel::kBlock;  // of several in a row

  bool smooths() const { return args_.smooth.data != nullptr; }

  // Elements of a piece: whole groups, if a row has several.
  int64_t width(int64_t together) const {
    int64_t fitting = x_.is_direct() ? args_.n : kBufferBytes / item_ / together;
    if (y_.is_wanted() && !y_.is_direct()) fitting = least(fitting, kBufferBytes);
    if (smooths()) fitting = least(fitting, kMostProducts);
    return args_.group < args_.n ? fitting / args_.group * args_.group : least(args_.n, fitting);
  }

  // Pieces hold whole groups: each is read once.
  void quantize_groups(int64_t row, int64_t rows) {
    const int64_t some = kLanes * args_.group;
    for (int64_t i = 0; i < args_.n; i += width_) {
      const int64_t count = least(args_.n - i, width_);
      x_.fetch(row, rows, i, count, width_);
      for (int64_t r = row; r < row + rows; ++r) {
        for (int64_t at = 0; at < count; at += some)
          quantize_some_groups<In>(args_, x_at(r, i) + at, least(count - at, some),
                                   y_.is_wanted() ? y_at(r, i) + at : nullptr, r,
                                   (i + at) / args_.group);
        y_.put(r, i, count);
      }
    }
  }

  // A group is a row: it is read twice, unless a piece holds it.
  void quantize_rows(int64_t row, int64_t rows) {
    reduce_rows(row, rows);
    for (int64_t r = 0; r < rows; ++r) {
      dividers_[r] =
          divider_of<In, int32_t>(args_.rule, args_.most_scale, In::Amax::value(amax_[r]));
      store_scale(args_.scale, row + r, 0, dividers_[r].scale);
    }
    if (y_.is_wanted()) encode_rows(row, rows);
  }

  void reduce_rows(int64_t row, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) amax_[r] = 0;
    const int64_t reduced = x_.is_direct() && !smooths() ? args_.n : width_;
    for (int64_t i = 0; i < args_.n; i += reduced) {
      const int64_t count = least(args_.n - i, reduced);
      x_.fetch(row, rows, i, count, width_);
      for (int64_t r = 0; r < rows; ++r) {
        const Bits bits = reduce_piece(row + r, i, count);
        amax_[r] = bits > amax_[r] ? bits : amax_[r];
      }
    }
  }
  Bits reduce_piece(int64_t row, int64_t i, int64_t count) {
    if (smooths()) return static_cast<Bits>(take_products(row, i, count));
    typename In::Amax amax;
    reduce<In>(x_at(row, i), count, amax);
    return amax.bits();
  }

  void encode_rows(int64_t row, int64_t rows) {
    const bool has_all = width_ == args_.n;
    for (int64_t i = 0; i < args_.n; i += width_) {
      const int64_t count = least(args_.n - i, width_);
      if (!has_all) x_.fetch(row, rows, i, count, width_);
      for (int64_t r = 0; r < rows; ++r) {
        if (smooths() && !(has_all && rows == 1)) take_products(row + r, i, count);
        encode_piece(dividers_[r], row + r, rows, i, count);
        y_.put(row + r, i, count);
      }
    }
  }

  // Meanwhile memory is asked for the same piece of the rows to come, where it is read in place.
  void encode_piece(const Divider<float, int32_t>& divider, int64_t row, int64_t rows, int64_t i,
                    int64_t count) {
    const int64_t next = least(row + rows, args_.rows - 1);
    const AskFor ask{x_.at(x_.is_direct() ? next : row, i), item_, prefetch_level()};
    const auto* const v = smooths() ? reinterpret_cast<const Storage*>(products_) : x_at(row, i);
    int8_t* const y = y_at(row, i);
    with_encoder<In>(divider, [&](auto encoder) {
      if (args_.stream && y_.is_direct())
        encode<true, In>(v, count, y, encoder, ask);
      else
        encode<In>(v, count, y, encoder);
    });
  }

  int32_t take_products(int64_t row, int64_t i, int64_t count) {
    return widen(args_.dtype, x_.at(row, i), parameter_at(args_.smooth, 0, i), count, products_);
  }
  const Storage* x_at(int64_t row, int64_t i) const {
    return reinterpret_cast<const Storage*>(x_.at(row, i));
  }
  int8_t* y_at(int64_t row, int64_t i) { return reinterpret_cast<int8_t*>(y_.at(row, i)); }

  const DynamicArgs& args_;
  int64_t item_;
  Source x_;
  Sink y_;
  int64_t width_ = 0;
  Bits amax_[kMostRows];
  Divider<float, int32_t> dividers_[kMostRows];
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

void quantize_direct(const DynamicArgs& args) {
  const bool in_place = args.x.stride == size_of(args.dtype) && args.y.stride == 1;
  if (args.smooth.data != nullptr && in_place && args.y.data != nullptr && args.n >= kTile)
    return visit_float_with<WholeLoads>(args.dtype,
                                        [&](auto in) { quantize_products<decltype(in)>(args); });
  if (args.smooth.data != nullptr) return run_apart<Pieces<Float32<WholeLoads>>>(args);
  visit_float_with<WholeLoads>(args.dtype, [&](auto in) { run_apart<Pieces<decltype(in)>>(args); });
}

// In strips of y.
void quantize_transposed(const DynamicArgs& args) {
  const bool has_groups = args.group < args.n;
  Strips<1> strips(args.rows, args.n, has_groups ? kStripColumns : args.n, {args.y}, {1});
  if (!strips.has_memory()) return quantize_direct(args);
  strips.run(args.stream, [&](int64_t row, int64_t rows, int64_t i, int64_t n, const Strided* y) {
    DynamicArgs part = args;
    part.rows = rows;
    part.n = n;
    part.group = has_groups ? args.group : n;
    part.x = args.x.from(row, i);
    part.y = y[0];
    part.scale = args.scale.from(row, i / args.group);
    part.stream = false;
    if (!part.takes_fast_loop())
      quantize_direct(part);
    else if (has_groups)
      DynamicBlockQuantKernel::run<kTarget>(part);
    else
      DynamicQuantKernel::run<kTarget>(part);
  });
}

}  // namespace

template <>
void DynamicPiecesKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (args.is_short()) return run_apart<ShortRows>(args);
  if (is_transposed(args.y) && args.n > 0) return quantize_transposed(args);
  quantize_direct(args);
}

}  // namespace npu_quant
