// Norms of rows of a few elements (docs/numerics.md 5).
#pragma once

#include "kernels/norm/source.h"

namespace npu_quant {
namespace {

// Rows of a few elements, as many at a time as kTogether holds, one after the other: every element
// has weights and a multiplier of its own.
template <class X>
class ShortNorm {
 public:
  explicit ShortNorm(const Args& args)
      : args_(args),
        together_(kTogether / args.n),
        x1_(args.tensors[Kernel::kX1], kItem, read_[0]),
        x2_(args.tensors[Kernel::kX2], kItem, read_[1]) {
    x1_.join(args.n);
    x2_.join(args.n);
    join(args.gamma, gamma_);
    join(args.beta, beta_);
    for (int o = 0; o < 2; ++o) {
      join(args.quantizers[o].scale, weights_[o][kScale]);
      join(args.quantizers[o].zero_point, weights_[o][kZeroPoint]);
    }
  }

  void run() {
    for (int64_t row = 0; row < args_.rows; row += together_) {
      const int64_t rows = least(args_.rows - row, together_), count = rows * args_.n;
      add(row, rows);
      for (int64_t r = 0; r < rows; ++r) normalise(row + r, r);
      put(Kernel::kX, row, rows, x_, kItem);
      for (int64_t i = 0; i < count; i += kTile)
        for (int64_t k = i; k < i + kTile; k += kLanes)
          store(sums_ + k, load<F32>(sums_ + k) * load<F32>(rstd_ + k) * load<F32>(gamma_ + k) +
                               load<F32>(beta_ + k));
      if (args_.tensors[Kernel::kRmsNorm].data != nullptr)
        put_values<X>(sums_, count, reinterpret_cast<T*>(x_));
      put(Kernel::kRmsNorm, row, rows, x_, kItem);
      for (int o = 0; o < 2; ++o)
        if (args_.tensors[Kernel::kY1 + o].data != nullptr) write_codes(o, row, rows);
    }
  }

 private:
  using T = typename X::Storage;
  static constexpr int64_t kTogether = 512, kItem = sizeof(T), kMost = kTogether + kTile;

  void join(const Strided& weight, float* to) const {
    if (weight.data != nullptr) return join_parameters(weight, 0, together_, args_.n, to);
    for (int64_t i = 0; i < kTogether; ++i) to[i] = -0.0f;  // adding it changes nothing
  }

  // Sums of some rows, in float32 and as x.
  void add(int64_t row, int64_t rows) {
    const int64_t n = args_.n, count = rows * n;
    x1_.fetch(row, rows, 0, n, n);
    x2_.fetch(row, rows, 0, n, n);
    const Sums<X> sums{x1_.at(row, 0), x2_.at(row, 0)};
    const auto put_sums = [&](int64_t i, const Tile& s) {
      store_tile(sums_ + i, X::unmixed(s));
      X::put_mixed(reinterpret_cast<T*>(x_) + i, s, Stores{false});
    };
    int64_t i = 0;
    for (; i + kTile <= count; i += kTile) put_sums(i, sums.at(0, i));
    if (i < count) put_sums(i, PaddedSums<X>(sums, 0, i, count - i).at(0));
  }

  // The multiplier of a row, for each of its elements. The sum has the shape of SumOfSquares, less
  // the lanes that hold nothing.
  void normalise(int64_t row, int64_t r) {
    const int64_t n = args_.n;
    const float* const s = sums_ + r * n;
    float lane[kSumLanes];
    for (int64_t j = 0; j < n; ++j) lane[j] = s[j] * s[j];
    for (int64_t half = kSumLanes / 2; half > 0; half /= 2)
      for (int64_t j = 0; j + half < n && j < half; ++j) lane[j] += lane[j + half];
    const float rstd = rstd_of(lane[0], n, static_cast<float>(args_.epsilon));
    for (int64_t j = 0; j < n; ++j) rstd_[r * n + j] = rstd;
    store_rstd(args_, row, rstd);
  }

  void write_codes(int o, int64_t row, int64_t rows) {
    const Weight by[] = {{unaligned(weights_[o][kScale]), -1},
                         {unaligned(weights_[o][kZeroPoint]), -1}};
    if (args_.quantizers[o].scale.data == nullptr)
      std::memset(x_, 0, sizeof x_);
    else
      for (int64_t i = 0; i < rows * args_.n; i += kTile)
        FormulaCodes(affine_of(args_, o), by, i)
            .put(Float32<WholeLoads>::load(unaligned(sums_ + i)), x_ + i, Stores{false});
    put(Kernel::kY1 + o, row, rows, x_, 1);
  }

  void put(int tensor, int64_t row, int64_t rows, const char* results, int64_t item) {
    if (args_.tensors[tensor].data == nullptr) return;
    Sink sink(args_.tensors[tensor], item, written_, false);
    sink.join(args_.n);
    std::memcpy(sink.at(row, 0), results, static_cast<size_t>(rows * args_.n * item));
    sink.put(row, 0, args_.n, rows, args_.n);
  }

  const Args& args_;
  const int64_t together_;
  Source x1_, x2_;
  alignas(64) float sums_[kMost] = {}, rstd_[kMost] = {};
  alignas(64) float gamma_[kMost] = {}, beta_[kMost] = {};
  alignas(64) float weights_[2][2][kMost] = {};
  alignas(64) char x_[kMost * 4];  // and codes after it
  Buffer<kMost * kItem> read_[2], written_;
};

}  // namespace
}  // namespace npu_quant
