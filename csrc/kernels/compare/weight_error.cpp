// How far weights are from what their codes stand for (docs/checkpoint.md 6):
//   v = code * scale    float32, rounded once
//   e = w - v           the same; where it is NaN 0, where it is infinite the greatest number
//   sum w^2, sum e^2, sum v^2, max |e|    of each row
//
// Squares of float32 are exact in float64, so that one may be added without being rounded before.
// Their sums have 16 lanes, whatever a vector holds:
// element i is added to lane i % 16, and then the upper half of the lanes to the lower, again and
// again.
#include "kernels/compare/weight_error.h"

#include "kernels/mx/mx.h"
#include "kernels/rows/piece.h"
#include "simd/codes.h"
#include "simd/float_environment.h"

namespace npu_quant {
namespace {

struct LaneSquares {
  static constexpr int kSumLanes = 16, kDoubles = kVectorBytes / 8;
  static_assert(kTile % kSumLanes == 0);
  F64 part[kSumLanes / kDoubles] = {};

  // Of part p of a tile.
  NPU_QUANT_INLINE void add(int p, F32 v) {
    F64 wide[2];
    widen_float32(v, wide);
    for (int i = 0; i < 2; ++i) {
      F64& sum = part[p * kLanes % kSumLanes / kDoubles + i];
      if constexpr (kHasFma)
        sum = fma(wide[i], wide[i], sum);
      else
        sum += wide[i] * wide[i];
    }
  }
  NPU_QUANT_INLINE double total() const { return sum_of_lanes<double, kSumLanes>(part); }
};

// Whether e may be infinite or NaN is found out first: then the row is done again.
enum class ErrorRange { finite, any };

template <ErrorRange range>
struct Sums {
  bool wants_values = true;
  LaneSquares weight, error, values;
  I32 greatest{};  // as bits, so that NaN stays

  NPU_QUANT_INLINE void add(const Tile& w, const Tile& v) {
    for (int p = 0; p < 4; ++p) {
      F32 e = w.part[p] - v.part[p];
      if constexpr (range == ErrorRange::any) {
        constexpr float kGreatest = 0x1.fffffep127f;
        e = min(max(zero_for_nan(e), broadcast(-kGreatest)), broadcast(kGreatest));
      }
      weight.add(p, w.part[p]);
      error.add(p, e);
      greatest = max(greatest, magnitude_bits(e));
    }
    if (wants_values)
      for (int p = 0; p < 4; ++p) values.add(p, v.part[p]);
  }
  NPU_QUANT_INLINE RowError total() const {
    const int32_t most = horizontal_max<int32_t, kVectorBytes>(greatest);
    return {weight.total(), error.total(), double{bit_cast<float>(most)}, values.total()};
  }
};

// What the first n codes of a tile stand for, and the rest of it, by the scales from theirs on.
struct IntegerCodes {
  using Code = int8_t;
  static constexpr int64_t kScaleBytes = sizeof(float);

  // Of a row of n codes: how many scales; and where that of element i is.
  static int64_t scales(int64_t) { return 1; }
  static NPU_QUANT_INLINE int64_t scale_of(int64_t) { return 0; }

  static NPU_QUANT_INLINE void find(const Code* codes, const char* scales, int64_t, Tile& v) {
    const float scale = reinterpret_cast<const Unaligned<float>*>(scales)->value;
    I32 code[4];
    Int8::load(codes, code);
    for (int p = 0; p < 4; ++p)
      v.part[p] = __builtin_convertvector(code[p], F32) * broadcast(scale);
  }
};
struct MxCodes {
  using Code = uint8_t;
  static constexpr int64_t kScaleBytes = 1;

  static int64_t scales(int64_t n) { return ceil_div(n, kMxCell); }
  static NPU_QUANT_INLINE int64_t scale_of(int64_t i) { return i / kMxCell; }

  static NPU_QUANT_INLINE void find(const Code* codes, const char* scales, int64_t n, Tile& v) {
    find_values<Float8E4M3FN>(load<I8>(codes), v);
    for (int p = 0; p < 4; ++p) {
      // 2^-127 is subnormal; of 255, NaN, it is infinity.
      const auto byte = static_cast<uint8_t>(scales[scale_of(least(p * kLanes, n - 1))]);
      v.part[p] *= broadcast(bit_cast<float>(byte == 0 ? 1 << 22 : byte << 23));
    }
  }
};

template <class In, class Codes>
class RowErrors {
 public:
  explicit RowErrors(const WeightErrorKernel::Args& args) : args_(args) {}

  void run() const {
    const int64_t scale_bytes = Codes::scales(args_.n) * Codes::kScaleBytes;
    const auto* w = reinterpret_cast<const Storage*>(args_.w);
    const auto* codes = reinterpret_cast<const Code*>(args_.codes);
    for (int64_t row = 0; row < args_.rows; ++row, w += args_.n, codes += args_.n)
      find(w, codes, args_.scales + row * scale_bytes, args_.errors[row]);
  }

 private:
  using Storage = typename In::Storage;
  using Code = typename Codes::Code;

  void find(const Storage* w, const Code* codes, const char* scales, RowError& error) const {
    error = of_row<ErrorRange::finite>(w, codes, scales);
    if (!(error.greatest < __builtin_inf())) error = of_row<ErrorRange::any>(w, codes, scales);
  }

  template <ErrorRange range>
  __attribute__((noinline)) RowError of_row(const Storage* w, const Code* codes,
                                            const char* scales) const {
    Sums<range> sums;
    sums.wants_values = args_.wants_values;
    Tile v;
    int64_t i = 0;
    for (; i + kTile <= args_.n; i += kTile) {
      Codes::find(codes + i, scales + Codes::scale_of(i), kTile, v);
      sums.add(In::load(w + i), v);
    }
    if (i < args_.n) add_end(w + i, codes + i, scales + Codes::scale_of(i), args_.n - i, sums);
    return sums.total();
  }

  // Fewer elements than a tile, with zeros after them: a code of 0 is none by an infinite scale.
  template <class RowSums>
  static NPU_QUANT_INLINE void add_end(const Storage* w, const Code* codes, const char* scales,
                                       int64_t n, RowSums& sums) {
    const Padded<Storage> w_left(w, n);
    const Padded<Code> codes_left(codes, n);
    Tile v;
    Codes::find(codes_left.values, scales, n, v);
    std::memset(reinterpret_cast<float*>(v.part) + n, 0,
                static_cast<size_t>(kTile - n) * sizeof(float));
    sums.add(In::load(w_left.values), v);
  }

  const WeightErrorKernel::Args& args_;
};

}  // namespace

template <>
void WeightErrorKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_with<WholeLoads>(args.dtype, [&](auto in) {
    using In = decltype(in);
    args.is_mx ? RowErrors<In, MxCodes>(args).run() : RowErrors<In, IntegerCodes>(args).run();
  });
}

}  // namespace npu_quant
