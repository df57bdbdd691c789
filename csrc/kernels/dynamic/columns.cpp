// npu_dynamic_quant, one channel per column (docs/numerics.md 12), where rows lie one element after
// the other:
//   amax = max|x| of a column     scale = amax / greatest     y = enc(x / scale)
//
// So many columns at a time that what they are divided by stays in L2; all of their rows are
// reduced, then encoded, two rows at a time: these load and store once what is kept of a tile's
// columns, while memory is asked for the next two. Wide parts of few rows are read as one stream
// (4096 x 4096 in float16 takes 0.7 of the time of 2048 columns, eight rows at a time).
#include "kernels/dynamic/dynamic.h"
#include "kernels/dynamic/reduce.h"

namespace npu_quant {
namespace {

constexpr int64_t kColumns = 4096;

// What a tile of columns is divided by, in the order of load_mixed().
struct TileDividers {
  Tile scale, multiplier;
  int32_t form;
};

template <class In, class Code>
class Columns {
  static constexpr int64_t kRowsInTurn = 2;

 public:
  explicit Columns(const DynamicArgs& args)
      : args_(args), ahead_(static_cast<uintptr_t>(kRowsInTurn * args.x.row_stride)) {}

  void run() {
    for (int64_t i = 0; i < args_.n; i += count_) {
      const int64_t left = args_.n - i;
      count_ = least(left, kColumns);
      if (count_ < left && left - count_ < kTile) count_ -= kTile;  // at least a tile is left
      reduce(i);
      for (int64_t t = 0; t * kTile < count_; ++t) find_dividers(t, i);
      for (int64_t row = 0; row < args_.rows; row += kRowsInTurn)
        for (int64_t t = 0; t * kTile < count_; ++t)
          encode_rows(row, least(args_.rows - row, kRowsInTurn), i, t);
    }
    if (args_.stream) stream_fence();
  }

 private:
  using Bits = typename In::Amax::Bits;
  using Magnitudes = Vec<Bits>;
  static constexpr int64_t kItem = sizeof(Bits), kCount = kVectorBytes / kItem;

  // The last tile, or vector, reaches back over the one before it.
  int64_t column(int64_t at, int64_t size) const { return least(at, count_ - size); }

  void reduce(int64_t i) {
    for (int64_t c = 0; c < count_; ++c) amax_[c] = 0;
    for (int64_t row = 0; row < args_.rows; row += kRowsInTurn) {
      const int64_t rows = least(args_.rows - row, kRowsInTurn);
      for (int64_t c = 0; c < count_; c += kCount) {
        const int64_t at = column(c, kCount);
        const char* x = args_.x.from(row, i + at).data;
        auto amax = load<Magnitudes>(amax_ + at);
        for (int64_t r = 0; r < rows; ++r, x += args_.x.row_stride) {
          prefetch_values(kLevel, x, ahead_, kVectorBytes);
          amax = max(amax, load<Magnitudes>(x) & kMagnitude);
        }
        store(amax_ + at, amax);
      }
    }
  }

  __attribute__((noinline)) void find_dividers(int64_t t, int64_t i) {
    const int64_t at = column(t * kTile, kTile);
    constexpr bool kNudges = kHasFma && kMultiplies<In, Code>;
    Tile scale, nudged, by_rule;
    const int32_t formula = formula_of(args_.rule);
    I32 is_other{}, has_none{};  // 1 where so
    for (int p = 0; p < 4; ++p) {
      const int64_t first = at + p * kLanes;
      const F32 amax = In::Amax::values(amax_ + first);
      const auto divider = divider_of<In, Code, I32>(args_.rule, amax);
      scale.part[p] = divider.scale;
      nudged.part[p] = divider.multiplier;
      if constexpr (!kNudges)
        by_rule.part[p] = divider.multiplier;
      else
        by_rule.part[p] = formula == kProduct ? multiplier_of(args_.rule, amax) : 1 / divider.scale;
      is_other |= (divider.form != kMultiply) & 1;
      has_none |= ~has_reciprocal(args_.rule, divider.scale) & 1;
      alignas(64) float scales[kLanes];
      store(scales, divider.scale);
      store_scales(args_.scale, 0, i + first, scales, kLanes);
    }
    const bool is_product = kNudges && horizontal_max<int32_t, kVectorBytes>(is_other) == 0;
    const bool is_corrected =
        kHasFma && formula != kProduct && horizontal_max<int32_t, kVectorBytes>(has_none) == 0;
    dividers_[t] = {In::mixed(scale), In::mixed(is_product ? nudged : by_rule),
                    is_product     ? kMultiply
                    : is_corrected ? kCorrect
                                   : formula};
  }

  NPU_QUANT_INLINE void encode_rows(int64_t row, int64_t rows, int64_t i, int64_t t) {
    const int64_t at = i + column(t * kTile, kTile);
    const char* x = args_.x.from(row, at).data;
    char* y = y_of(args_, row) + bytes_of<Code>(at);
    const TileDividers& by = dividers_[t];
    with_encoder<In, Code, true>(
        by.scale, by.multiplier, by.form, [&](auto encoder) __attribute__((always_inline)) {
          for (int64_t r = 0; r < rows; ++r, x += args_.x.row_stride, y += args_.y.row_stride) {
            prefetch_values(kLevel, x, ahead_, kTile * kItem);
            const auto* values = reinterpret_cast<const typename In::Storage*>(x);
            Stores{args_.stream}.put(y, encoder(In::load_mixed(values)));
          }
        });
  }

  static constexpr Bits kMagnitude = static_cast<Bits>(~(Bits{1} << (8 * kItem - 1)));

  // Lines of rows that lie a power of two apart would drive each other out of L1.
  static constexpr CacheLevel kLevel = CacheLevel::second;

  const DynamicArgs args_;  // which no store to y changes
  const uintptr_t ahead_;
  int64_t count_ = 0;
  alignas(64) Bits amax_[kColumns];
  TileDividers dividers_[kColumns / kTile];
};

}  // namespace

template <>
void DynamicColumnsKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_with<WholeLoads>(args.dtype, [&](auto in) {
    visit_code(args.format,
               [&](auto code) { run_apart<Columns<decltype(in), decltype(code)>>(args); });
  });
}

}  // namespace npu_quant
