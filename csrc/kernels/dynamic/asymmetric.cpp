// Asymmetric quantization where elements follow on each other (docs/numerics.md 12): rows in one
// pass over memory, and the codes of columns. The formulas are those of extremes.h and quotient.h.
//
//   row       reduce  encode                      While a row is encoded, from cache, the next one
//   row + 1           reduce  encode              is read from memory.
#include "kernels/dynamic/groups.h"

#include "kernels/dynamic/affine.h"
#include "kernels/dynamic/extremes.h"
#include "kernels/dynamic/reduce.h"

namespace npu_quant {
namespace {

// The running extremes of a row, by tiles.
template <class In>
struct TileExtremes {
  using K = Keys<In>;
  static constexpr int kVectors = static_cast<int>(kTile / K::kCount);
  Extremes<In> of[kVectors];

  NPU_QUANT_INLINE void include(const char* x) {
    for (int v = 0; v < kVectors; ++v) of[v].include(K::at(x + v * kVectorBytes));
  }
  NPU_QUANT_INLINE ScaleAndOffset scale_and_offset(const FusedRowsKernel::Args& args) {
    for (int v = 1; v < kVectors; ++v) of[0].include(of[v]);
    const Extremes<In> all = of[0].of_all();
    alignas(64) typename K::Int bits[2][K::kCount];
    store(bits[0], K::turned(all.hi));
    store(bits[1], K::turned(all.lo));
    const float hi = K::numbers(bits[0])[0], lo = K::numbers(bits[1])[0];
    const F32 nan = plain_nan();
    const bool is_nan = hi != hi || lo != lo;
    return npu_quant::scale_and_offset(args.rule, false, is_nan ? nan : broadcast(hi),
                                       is_nan ? nan : broadcast(lo));
  }
};

// What the parts of a tile are divided by (kernels/dynamic/affine.h).
struct Divisors {
  Tile scales, offsets, factors, step_offsets;
  int32_t formula;

  NPU_QUANT_INLINE F32 scale(int i) const { return scales.part[i]; }
  NPU_QUANT_INLINE F32 offset(int i) const { return offsets.part[i]; }
  NPU_QUANT_INLINE F32 factor(int i) const { return factors.part[i]; }
  NPU_QUANT_INLINE F32 steps(int i) const { return step_offsets.part[i]; }
};

// Whose codes come by one multiplication; others by a corrected one.
template <class Code>
inline constexpr bool kHasSteps = false;
template <>
inline constexpr bool kHasSteps<Int8> = true;

// An offset next to the codes is near enough for quotient.h: where two codes meet, v / scale is
// below 256 still. Rounding puts that of a row without negative values there.
NPU_QUANT_INLINE F32 steps_of(F32 offset) {
  return offset_of(offset, Int8::kLeast - 1, Int8::kGreatest + 1);
}

template <class In>
NPU_QUANT_INLINE Tile load_tile(const char* x) {
  return In::load(reinterpret_cast<const typename In::Storage*>(x));
}
template <class Code>
NPU_QUANT_INLINE void put_tile(const Tile& q, char* y, Stores stores) {
  I32 code[4];
  for (int i = 0; i < 4; ++i) code[i] = Coding<Code>::any(q.part[i]);
  stores.put(y, packed<Float32<WholeLoads>, Code>(code));
}

// False where v or the quotient is no ordinary number. Of products the formula itself is as fast.
template <class Code>
NPU_QUANT_INLINE bool encode_corrected(const Tile& v, char* y, const Divisors& by, float steps,
                                       Stores stores) {
  const Tile q =
      by.formula == kProduct ? sums_by_formula(v, by, kProduct) : corrected_sums(v, by, steps);
  if (__builtin_expect(any_nan(q.part), false)) return false;
  put_tile<Code>(q, y, stores);
  return true;
}

// The codes of a tile of which the fast form does not decide all.
template <class In, class Code>
__attribute__((noinline)) void encode_slowly(const char* x, char* y, const Divisors& by) {
  const Tile v = load_tile<In>(x);
  if constexpr (kHasFma && kHasSteps<Code>)
    if (encode_corrected<Code>(v, y, by, kStepsPerCode, Stores{false})) return;
  put_tile<Code>(sums_by_formula(v, by, by.formula), y, Stores{false});
}

// False where that is to be done.
template <class In, class Code>
NPU_QUANT_INLINE bool encode_tile(const char* x, char* y, const Divisors& by, Stores stores) {
  const Tile v = load_tile<In>(x);
  if constexpr (kHasSteps<Code>)
    return Code::put_floors(reinterpret_cast<int8_t*>(y), steps_of_sums(v, by), stores);
  else if constexpr (kHasFma)
    return encode_corrected<Code>(v, y, by, 1, stores);
  else
    return false;
}

// Codes of a row, while the next one is reduced, if there is one.
template <class In, class Code>
NPU_QUANT_INLINE TileExtremes<In> encode_row(const char* x, char* y, int64_t n, const char* next,
                                             const Divisors& by, Stores stores) {
  constexpr int64_t kItem = Keys<In>::kItem;
  constexpr uintptr_t kAhead = 6 << 10;
  TileExtremes<In> found;
  for (int64_t k = 0; k < n; k += kTile) {
    const int64_t i = least(k, n - kTile);  // the last tile reaches back
    if (next != nullptr) {
      prefetch_values(CacheLevel::first, next + i * kItem, kAhead, kTile * kItem);
      found.include(next + i * kItem);
    }
    if (!encode_tile<In, Code>(x + i * kItem, y + bytes_of<Code>(i), by, stores))
      encode_slowly<In, Code>(x + i * kItem, y + bytes_of<Code>(i), by);
  }
  return found;
}

template <class In, class Code>
__attribute__((noinline)) void quantize_rows(const FusedRowsKernel::Args& of_call) {
  const FusedRowsKernel::Args args = of_call;  // which no store to y changes
  TileExtremes<In> found;
  for (int64_t k = 0; k < args.n; k += kTile)
    found.include(args.x.from(0, least(k, args.n - kTile)).data);
  for (int64_t row = 0; row < args.rows; ++row) {
    const ScaleAndOffset of_row = found.scale_and_offset(args);
    store_scale(args.scales, row, 0, of_row.scale[0]);
    store_scale(args.offsets, row, 0, of_row.offset[0]);
    const F32 factor = kHasSteps<Code> ? factor_of(of_row.scale, kStepsPerCode)
                                       : factor_beside(of_row.scale, of_row.offset);
    const Divisors by{tile_of(of_row.scale), tile_of(of_row.offset), tile_of(factor),
                      tile_of(steps_of(of_row.offset)), formula_of(args.rule)};
    found = encode_row<In, Code>(args.x.from(row, 0).data, args.y.from(row, 0).data, args.n,
                                 row + 1 < args.rows ? args.x.from(row + 1, 0).data : nullptr, by,
                                 Stores{args.stream});
  }
  if (args.stream) stream_fence();
}

// A parameter of each element of a tile of columns.
NPU_QUANT_INLINE Tile load_parts(const char* values, int64_t i) {
  return load_tile<Float32<WholeLoads>>(values + i * 4);
}

// Some rows of a tile of columns, while memory is asked for as many more.
template <class In, class Code>
NPU_QUANT_INLINE void encode_columns(const ColumnCodesKernel::Args& args, int64_t row, int64_t rows,
                                     int64_t i) {
  constexpr int64_t kItem = Keys<In>::kItem;
  const auto divisors = [&](bool all) {
    return Divisors{all ? load_parts(args.scale, i) : Tile{},
                    all ? load_parts(args.offset, i) : Tile{}, load_parts(args.factor, i),
                    kHasSteps<Code> ? load_parts(args.steps, i) : Tile{}, formula_of(args.rule)};
  };
  const Divisors by = divisors(!kHasSteps<Code>);
  const auto ahead = static_cast<uintptr_t>(rows * args.x.row_stride);
  const char* x = args.x.from(row, i).data;
  char* y = args.y.from(row, 0).data + bytes_of<Code>(i);
  for (int64_t r = 0; r < rows; ++r, x += args.x.row_stride, y += args.y.row_stride) {
    prefetch_values(CacheLevel::second, x, ahead, kTile * kItem);
    if (!encode_tile<In, Code>(x, y, by, Stores{args.stream}))
      encode_slowly<In, Code>(x, y, divisors(true));
  }
}

template <class In, class Code>
__attribute__((noinline)) void encode_all_columns(const ColumnCodesKernel::Args& of_call) {
  constexpr int64_t kRowsInTurn = 8;
  const ColumnCodesKernel::Args args = of_call;  // which no store to y changes
  for (int64_t row = 0; row < args.rows; row += kRowsInTurn)
    for (int64_t i = 0; i < args.n; i += kTile)
      encode_columns<In, Code>(args, row, least(args.rows - row, kRowsInTurn),
                               least(i, args.n - kTile));
  if (args.stream) stream_fence();
}

}  // namespace

template <>
void FusedRowsKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_with<WholeLoads>(args.dtype, [&](auto in) {
    visit_code(args.format, [&](auto code) { quantize_rows<decltype(in), decltype(code)>(args); });
  });
}

template <>
void ColumnCodesKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_with<WholeLoads>(args.dtype, [&](auto in) {
    visit_code(args.format,
               [&](auto code) { encode_all_columns<decltype(in), decltype(code)>(args); });
  });
}

}  // namespace npu_quant
