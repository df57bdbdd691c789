// What experts made of a token, weighed and added up (docs/numerics.md 22), in float32, rounded
// once at the end:
//   y = skip1 + skip2, or 0;  y = y + weight * (x + bias)    of each term, one after the other
#include "kernels/routing/routing.h"
#include "kernels/rows/values.h"

namespace npu_quant {
namespace {

template <class X>
struct Weighed {
  const typename X::Storage *x, *bias;  // bias: null where there is none
  F32 weight;

  NPU_QUANT_INLINE void add_to(float* sums, int64_t i) const {
    Tile v = X::load(x + i), sum = Float32<WholeLoads>::load(unaligned(sums + i));
    if (bias != nullptr) {
      const Tile added = X::load(bias + i);
      for (int p = 0; p < 4; ++p) v.part[p] += added.part[p];
    }
    for (int p = 0; p < 4; ++p) sum.part[p] += weight * v.part[p];
    store_tile(sums + i, sum);
  }
};

// n elements of a term; what `sums` has behind them, up to a whole tile, is of no meaning.
template <class X>
__attribute__((noinline)) void add_term(const char* x, const char* bias, float weight, int64_t n,
                                        float* sums) {
  using Storage = typename X::Storage;
  const Weighed<X> term{reinterpret_cast<const Storage*>(x), reinterpret_cast<const Storage*>(bias),
                        broadcast(weight)};
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) term.add_to(sums, i);
  if (i == n) return;
  const Padded rest(term.x + i, n - i), more((bias == nullptr ? term.x : term.bias) + i, n - i);
  const Weighed<X> end{rest.values, bias == nullptr ? nullptr : more.values, term.weight};
  end.add_to(sums + i, 0);
}

template <class X>
class WeighedRows {
 public:
  explicit WeighedRows(const WeighRowsKernel::Args& args)
      : args_(args), y_(args.y, kItem, written_, args.stream, true) {}

  void run() {
    for (int64_t row = 0; row < args_.rows; ++row)
      for (int64_t i = 0; i < args_.n; i += kPiece) make(row, i, least(args_.n - i, kPiece));
    if (args_.stream) stream_fence();
  }

 private:
  using PieceBuffer = Buffer<kPiece * sizeof(float)>;
  static constexpr int64_t kItem = sizeof(typename X::Storage);

  void make(int64_t row, int64_t i, int64_t n) {
    const bool skips = args_.skips[0].data != nullptr || args_.skips[1].data != nullptr;
    // What is added to -0 is itself, whatever it is.
    Tile start;
    for (F32& part : start.part) part = broadcast(skips ? -0.0f : 0.0f);
    for (int64_t at = 0; at < n; at += kTile) store_tile(sums_ + at, start);
    for (const Strided& skip : args_.skips)
      if (skip.data != nullptr)
        add_term<X>(piece_of(skip.from(row, 0), i, n, read_), nullptr, 1, n, sums_);
    for (int64_t k = row * args_.terms; k < (row + 1) * args_.terms; ++k) add(k, i, n);
    put_values<X>(sums_, n, reinterpret_cast<typename X::Storage*>(y_.at(row, i)));
    y_.put(row, i, n);
  }

  void add(int64_t k, int64_t i, int64_t n) {
    const bool is_there = args_.x_rows[k] != kNoRow;
    if (!is_there && args_.leaves_out_none) return;
    const char* const x = piece_of(row_at(args_.x, args_.x_rows[k]), i, n, read_);
    const char* bias = nullptr;
    if (args_.bias.data != nullptr)
      bias = piece_of(row_at(args_.bias, args_.bias_rows[k]), i, n, read_bias_);
    float weight = 1;
    if (args_.weights != nullptr)
      std::memcpy(&weight, args_.weights + k * int64_t{sizeof weight}, sizeof weight);
    add_term<X>(x, bias, weight, n, sums_);
  }

  Strided row_at(const Strided& rows, int64_t offset) const {
    return {offset == kNoRow ? const_cast<char*>(zero_) : rows.data + offset, 0,
            offset == kNoRow ? 0 : rows.stride};
  }
  const char* piece_of(const Strided& row, int64_t i, int64_t n, PieceBuffer& buffer) const {
    Source source(row, kItem, buffer);
    source.fetch(0, 1, i, n, n);
    return source.at(0, i);
  }

  const WeighRowsKernel::Args& args_;
  Sink y_;
  char zero_[kItem] = {};
  alignas(64) float sums_[kPiece + kTile];
  PieceBuffer read_, read_bias_, written_;
};

}  // namespace

template <>
void WeighRowsKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_with<WholeLoads>(args.dtype,
                               [&](auto x) { run_apart<WeighedRows<decltype(x)>>(args); });
}

}  // namespace npu_quant
