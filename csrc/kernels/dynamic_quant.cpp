// npu_dynamic_quant, one token per row (docs/numerics.md 2):
//   amax = max|x|     scale = amax / 127     y = rint(x / scale)
#include "kernels/dynamic_quant.h"

#include "kernels/reduce_encode.h"

namespace npu_quant {
namespace {

// Beside the one stream of values from memory, a Zen 4 prefetches worse when the row it encodes is
// read in the same direction: turned, 512 elements at a time, rows of 2048 to 14336 take 0.85 to
// 0.93 of the time.
constexpr int64_t kTurned = 512;

//   row       reduce  encode                      While a row is encoded, from L1, the next one is
//   row + 1           reduce  encode              read from memory.
//   row + 2                   reduce  encode
template <class In, bool streams>
void quantize_rows(const DynamicArgs& args) {
  constexpr uintptr_t kAhead = 6 << 10;
  const CacheLevel level = streams ? prefetch_level() : CacheLevel::first;
  const int64_t turned = level == CacheLevel::second ? kTurned : 0;
  typename In::Amax amax;
  reduce<In>(x_of<In>(args, 0), args.n, amax);
  for (int64_t row = 0; row < args.rows; ++row) {
    const auto divider = divider_of<In, Int8, int32_t>(args.rule, In::Amax::value(amax.bits()));
    store_scale(args.scale, row, 0, divider.scale);
    const auto* const next = row + 1 < args.rows ? x_of<In>(args, row + 1) : nullptr;
    amax = encode<In, Int8, Ends::inlined>(x_of<In>(args, row), args.n, y_of(args, row),
                                           Stores{streams}, divider,
                                           ReduceNext<In>{next, kAhead, level}, turned)
               .amax;
  }
  if (streams) stream_fence();
}

}  // namespace

template <>
void DynamicQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (args.rows == 0) return;
  visit_float(args.dtype, args.x.data, args.x.row_stride, args.stream, [&](auto in) {
    using In = decltype(in);
    args.stream ? quantize_rows<In, true>(args) : quantize_rows<In, false>(args);
  });
}

}  // namespace npu_quant
