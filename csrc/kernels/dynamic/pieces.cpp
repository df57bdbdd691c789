// The dynamic quantizers where the fast loops do not go (docs/numerics.md 2): arrays of any
// strides, rows shorter than a vector, factors for the elements of a row, scales alone.
//   v = x * smooth     amax = max|v|     scale = amax / 127     y = rint(v / scale)
#include "kernels/dynamic/dynamic.h"
#include "kernels/dynamic/reduce.h"
#include "kernels/dynamic/smooth.h"
#include "kernels/rows/strips.h"

namespace npu_quant {
namespace {

// Rows that share scales, or are read together: pieces of them are reduced; then pieces, the same
// or others, are encoded.
class Pieces {
 public:
  explicit Pieces(const DynamicArgs& args)
      : args_(args),
        item_(size_of(args.dtype)),
        x_(args.x, item_, buffers_[0]),
        y_(args.y, args.y_item(), buffers_[1], args.stream) {}

  void run() {
    const bool has_groups = args_.group < args_.n;
    const int64_t fitting = kBufferBytes / item_ / most(1, least(args_.n, kMostGroup));
    together_ = least(x_.rows_together(), fitting);
    width_ = width(has_groups);
    const int64_t at_once = args_.group_rows > 1 ? args_.group_rows : together_;
    const int64_t columns = has_groups ? width_ : most(1, args_.n);
    for (int64_t row = 0; row < args_.rows; row += at_once)
      for (int64_t i = 0; i == 0 || i < args_.n; i += columns)
        quantize({row, least(args_.rows - row, at_once), i, least(args_.n - i, columns)});
    if (args_.stream) stream_fence();
  }

 private:
  static constexpr int64_t kMostGroup = 256;   // of several in a row
  static constexpr int64_t kMostGroups = 128;  // of the rows that are read together

  // Some elements of some rows.
  struct Part {
    int64_t row, rows, i, n;
  };

  bool is_one_piece(const Part& part) const { return part.rows <= together_ && part.n <= width_; }

  // Elements of a piece: whole groups, if a row has several, that amax_ has room for.
  int64_t width(bool has_groups) const {
    int64_t fitting = x_.is_direct() ? args_.n : kBufferBytes / item_ / together_;
    if (y_.is_wanted() && !y_.is_direct()) fitting = least(fitting, kBufferBytes);
    if (!has_groups) return least(args_.n, fitting / args_.packed() * args_.packed());
    const int64_t lines = args_.group_rows > 1 ? 1 : together_;
    const int64_t groups = least(fitting / args_.group, kMostGroups / lines);
    trap_unless(groups > 0);
    return groups * args_.group;
  }

  void quantize(const Part& part) {
    if (is_one_piece(part) && y_.is_wanted()) return quantize_piece(part);
    quantize_by_steps(part);
  }

  // Where all of x fits at once, the fast loops take it from there.
  void quantize_piece(const Part& part) {
    const int64_t y = part.i / args_.packed(), y_width = width_ / args_.packed();
    x_.fetch(part.row, part.rows, part.i, part.n, width_);
    DynamicArgs of = args_;
    of.rows = part.rows;
    of.n = part.n;
    of.x = {const_cast<char*>(x_.at(part.row, part.i)),
            x_.is_direct() ? args_.x.row_stride : width_ * item_, item_};
    of.y = {y_.at(part.row, y), y_.is_direct() ? args_.y.row_stride : y_width * args_.y_item(),
            args_.y_item()};
    of.scale = args_.scale.from(part.row / args_.group_rows,
                                args_.group < args_.n ? part.i / args_.group : 0);
    of.stream = false;  // a piece of a row is short
    with_dynamic_kernel(of, [&](auto kernel) { kernel.template run<kTarget>(of); });
    y_.put(part.row, y, part.n / args_.packed(), part.rows, y_width);
  }

  // The groups of all rows of a part, or of each, have their greatest magnitudes in amax_.
  void quantize_by_steps(const Part& part) {
    const int64_t groups = groups_of(part.n, args_.group);
    const int64_t lines = args_.group_rows > 1 ? 1 : part.rows;
    trap_unless(lines * groups <= kMostGroups);
    for (int64_t g = 0; g < lines * groups; ++g) amax_[g] = 0;
    for_each_piece(part, true, [&](const Part& piece, int64_t r) {
      AmaxOfGroups::run<kTarget>({values_of(piece, r), amax_of(piece, r, part, groups)});
    });
    store_scales_of(part, lines, groups);
    if (!y_.is_wanted()) return;
    for_each_piece(part, !is_one_piece(part), [&](const Part& piece, int64_t r) {
      DynamicArgs of = values_of(piece, r);
      of.y = {y_.at(r, piece.i / args_.packed()), 0, args_.y_item()};
      of.stream = args_.stream && y_.is_direct();
      EncodeGroups::run<kTarget>({of, amax_of(piece, r, part, groups)});
      y_.put(r, piece.i / args_.packed(), piece.n / args_.packed());
    });
  }

  // Calls use(piece, row) for each row of each piece.
  template <class Use>
  void for_each_piece(const Part& part, bool fetches, Use use) {
    for (int64_t row = 0; row < part.rows; row += together_)
      for (int64_t i = 0; i < part.n; i += width_) {
        const Part piece{part.row + row, least(part.rows - row, together_), part.i + i,
                         least(part.n - i, width_)};
        if (fetches) x_.fetch(piece.row, piece.rows, piece.i, piece.n, width_);
        for (int64_t r = 0; r < piece.rows; ++r) use(piece, piece.row + r);
      }
  }

  float* amax_of(const Part& piece, int64_t row, const Part& part, int64_t groups) {
    const int64_t line = args_.group_rows > 1 ? 0 : row - part.row;
    const int64_t group = args_.group < args_.n ? (piece.i - part.i) / args_.group : 0;
    return amax_ + line * groups + group;
  }

  // A row of a piece as DynamicBlocksKernel takes it.
  DynamicArgs values_of(const Part& piece, int64_t row) {
    DynamicArgs of = args_;
    of.rows = 1;
    of.n = piece.n;
    of.group = least(args_.group, piece.n);
    of.x = {const_cast<char*>(x_.at(row, piece.i)), 0, item_};
    return of;
  }

  void store_scales_of(const Part& part, int64_t lines, int64_t groups) {
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t g = 0; g < groups; ++g)
        store_scale(args_.scale, part.row / args_.group_rows + line,
                    (args_.group < args_.n ? part.i / args_.group : 0) + g,
                    scale_of(args_.rule, amax_[line * groups + g]));
  }

  const DynamicArgs& args_;
  int64_t item_;
  Source x_;
  Sink y_;
  int64_t together_ = 1, width_ = 0;
  float amax_[kMostGroups];
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
        formula_(formula_of(args.rule)),
        x_(args.x, size_of(args.dtype), buffers_[0]),
        y_(args.y, args.y_item(), buffers_[1], false) {
    x_.join(args.n);
    y_.join(args.n / args.packed());
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
      visit_code(args_.format, [&](auto code) { encode_values<decltype(code)>(count); });
      const int64_t items = args_.n / args_.packed();
      std::memcpy(y_.at(row, 0), codes_, static_cast<size_t>(rows * items * args_.y_item()));
      y_.put(row, 0, items, rows, items);
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
    float *scale = scales_, *multiplier = multipliers_;
    for (int64_t r = 0; r < rows; r += kLanes) {
      alignas(64) float lanes[2][kLanes];
      const F32 of_rows = AmaxFloat32::values(amax + r);
      store(lanes[0], scale_of(args_.rule, of_rows));
      store(lanes[1], formula_ == kProduct ? multiplier_of(args_.rule, of_rows) : F32{});
      for (int64_t lane = 0; lane < least(rows - r, kLanes); ++lane) {
        store_scale(args_.scale, row + r + lane, 0, lanes[0][lane]);
        for (int64_t i = 0; i < args_.n; ++i) {
          *scale++ = lanes[0][lane];
          *multiplier++ = lanes[1][lane];
        }
      }
    }
  }

  template <class Code>
  void encode_values(int64_t count) {
    using In = Float32<WholeLoads>;
    for (int64_t i = 0; i < count; i += kTile) {
      const ByFormula<In, Code> encoder{In::load(unaligned(scales_ + i)),
                                        In::load(unaligned(multipliers_ + i)), formula_};
      store(codes_ + bytes_of<Code>(i), encoder(In::load(unaligned(values_ + i))));
    }
  }

  const DynamicArgs& args_;
  const int32_t formula_;
  Source x_;
  Sink y_;
  alignas(64) float smooth_[kTogether];
  alignas(64) float values_[kTogether + kTile];
  alignas(64) float scales_[kTogether + kTile] = {};
  alignas(64) float multipliers_[kTogether + kTile] = {};
  alignas(64) char codes_[kTogether + kTile];
  Buffer<kTogether * 4> buffers_[2];
};

void quantize_direct(const DynamicArgs& args) {
  if (args.smooth.data == nullptr) return run_apart<Pieces>(args);
  const bool in_place = args.x.stride == size_of(args.dtype) && args.y.stride == args.y_item();
  if (in_place && args.y.data != nullptr && args.n >= kTile && args.format == Format::int8)
    return visit_float_with<WholeLoads>(args.dtype,
                                        [&](auto in) { quantize_products<decltype(in)>(args); });
  run_apart<SmoothedRows>(args);
}

// In strips of y.
void quantize_transposed(const DynamicArgs& args) {
  const bool has_groups = args.group < args.n;
  const int64_t packed = args.packed();
  Strips<1> strips(args.rows, args.n / packed,
                   (has_groups ? kStripColumns / args.group * args.group : args.n) / packed,
                   {args.y}, {args.y_item()});
  if (!strips.has_memory()) return quantize_direct(args);
  strips.run(args.stream, [&](int64_t row, int64_t rows, int64_t i, int64_t n, const Strided* y) {
    DynamicArgs part = args;
    part.rows = rows;
    part.n = n * packed;
    part.group = has_groups ? args.group : part.n;
    part.x = args.x.from(row, i * packed);
    part.y = y[0];
    part.scale = args.scale.from(row, i * packed / args.group);
    part.stream = false;
    if (!part.is_in_place()) return quantize_direct(part);
    with_dynamic_kernel(part, [&](auto kernel) { kernel.template run<kTarget>(part); });
  });
}

}  // namespace

template <>
void DynamicPiecesKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (args.is_short()) return run_apart<ShortRows>(args);
  if (is_transposed(args.y) && args.n > 0 && args.group_rows == 1) return quantize_transposed(args);
  quantize_direct(args);
}

}  // namespace npu_quant
