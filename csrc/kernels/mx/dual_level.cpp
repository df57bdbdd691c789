// npu_dynamic_dual_level_mx_quant (docs/numerics.md 23): groups of a row by a scale each, then
// blocks of what these have become:
//   scale = max|x| / MAX     over a group
//   t     = x / scale        rounded to x's dtype; x itself where the scale is 0
//   y, b  = as mx/rows.cpp has them, of t
#include "kernels/dynamic/reduce.h"
#include "kernels/mx/mx.h"
#include "kernels/rows/strips.h"

namespace npu_quant {

// mx/rows.cpp may come later in what is compiled as one file.
template <>
void MxRowsKernel::run<kTarget>(const Args& args);

namespace {

constexpr int64_t kGroup = DualLevelMxKernel::kGroup;
constexpr int64_t kMostDivided = 16 << 10;  // elements: a group of each row that shares lines
constexpr int64_t kDividedOfOne = 4 << 10;  // of a row alone: what is read twice stays in L1

// n of them, and what is left of a tile after them.
template <class In>
__attribute__((noinline)) void divide_group(const typename In::Storage* x, int64_t n, float by,
                                            typename In::Storage* t) {
  const auto put = [&](int64_t i, const typename In::Storage* from) {
    Tile v = In::load(from);
    for (int p = 0; p < 4; ++p) v.part[p] /= broadcast(by);
    In::put(t + i, v, Stores{false});
  };
  if (n < kTile) return put(0, Padded(x, n).values);
  for (int64_t i = 0; i < n; i += kTile) put(least(i, n - kTile), x + least(i, n - kTile));
}

template <class In>
class DividedRows {
 public:
  explicit DividedRows(const DualLevelMxKernel::Args& args)
      : args_(args), x_(args.blocks.x, sizeof(Storage), buffer_) {}

  void run() {
    const DynamicMxArgs& of = args_.blocks;
    const int64_t together = x_.rows_together();
    const int64_t most = together == 1 ? kDividedOfOne : kMostDivided / together / kGroup * kGroup;
    const int64_t width = least(of.n, most);
    for (int64_t row = 0; row < of.rows; row += together)
      for (int64_t i = 0; i < of.n; i += width)
        quantize_part(row, least(of.rows - row, together), i, least(of.n - i, width), width);
  }

 private:
  using Storage = typename In::Storage;

  void quantize_part(int64_t row, int64_t rows, int64_t i, int64_t n, int64_t width) {
    x_.fetch(row, rows, i, n, width);
    for (int64_t r = 0; r < rows; ++r) {
      const auto* const x = reinterpret_cast<const Storage*>(x_.at(row + r, i));
      for (int64_t first = 0; first < n; first += kGroup) {
        const int64_t count = least(n - first, kGroup);
        typename In::Amax amax;
        reduce<In>(x + first, count, amax);
        const float scale = In::Amax::value(amax.bits()) / args_.greatest;
        store_scale(args_.scale, row + r, (i + first) / kGroup, scale);
        divide_group<In>(x + first, count, scale == 0 ? 1 : scale, t_ + r * width + first);
      }
    }
    DynamicMxArgs part = args_.blocks;
    part.rows = rows;
    part.n = n;
    part.x = {reinterpret_cast<char*>(t_), width * int64_t{sizeof(Storage)}, sizeof(Storage)};
    part.y = part.y.from(row, i / 2);
    part.scales = part.scales.from(row, i / (2 * kMxCell));
    MxRowsKernel::run<kTarget>(part);
  }

  const DualLevelMxKernel::Args& args_;
  Source x_;
  Buffer<kMostDivided * sizeof(Storage)> buffer_;
  alignas(64) Storage t_[kMostDivided + kTile];
};

void quantize_divided(const DualLevelMxKernel::Args& args) {
  visit_float_with<WholeLoads>(args.blocks.dtype,
                               [&](auto in) { DividedRows<decltype(in)>(args).run(); });
}

// In strips of y, of whole groups.
void quantize_divided_transposed(const DualLevelMxKernel::Args& args) {
  const DynamicMxArgs& of = args.blocks;
  Strips<1> strips(of.rows, of.n / 2, kStripColumns, {of.y}, {1});
  if (!strips.has_memory()) return quantize_divided(args);
  strips.run(of.stream, [&](int64_t row, int64_t rows, int64_t i, int64_t n, const Strided* y) {
    DualLevelMxKernel::Args part = args;
    part.scale = args.scale.from(row, 2 * i / kGroup);
    part.blocks.rows = rows;
    part.blocks.n = 2 * n;
    part.blocks.x = of.x.from(row, 2 * i);
    part.blocks.y = y[0];
    part.blocks.scales = of.scales.from(row, i / kMxCell);
    part.blocks.stream = false;
    quantize_divided(part);
  });
}

}  // namespace

template <>
void DualLevelMxKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  is_transposed(args.blocks.y) && args.blocks.n > 0 ? quantize_divided_transposed(args)
                                                    : quantize_divided(args);
}

}  // namespace npu_quant
