// npu_dynamic_quant, one token per row (docs/numerics.md 2):
//   amax = max|x|     scale = amax / 127     y = rint(x / scale)
#include "kernels/dynamic/dynamic.h"

#include "kernels/dynamic/reduce.h"

namespace npu_quant {
namespace {

//   row       reduce  encode                      While a row is encoded, from L1, the next one is
//   row + 1           reduce  encode              read from memory.
//   row + 2                   reduce  encode
template <class In>
__attribute__((noinline)) void quantize_rows(const DynamicArgs& args) {
  constexpr uintptr_t kAhead = 6 << 10;
  const CacheLevel level = args.stream ? prefetch_level() : CacheLevel::first;
  const int64_t turned = level == CacheLevel::second ? kTurned : 0;
  ResultStream to(args.stream, args.y, args.n);
  typename In::Amax amax;
  reduce<In>(x_of<In>(args, 0), args.n, amax);
  for (int64_t row = 0; row < args.rows; ++row) {
    const auto divider = divider_of<In, Int8, int32_t>(args.rule, In::Amax::value(amax.bits()));
    store_scale(args.scale, row, 0, divider.scale);
    const auto* const next = row + 1 < args.rows ? x_of<In>(args, row + 1) : nullptr;
    amax = encode<In, Int8, Ends::inlined>(x_of<In>(args, row), args.n, y_of(args, row), to,
                                           divider, ReduceNext<In>{next, kAhead, level}, turned)
               .amax;
  }
  to.flush();
  if (args.stream) stream_fence();
}

}  // namespace

template <>
void DynamicQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (args.rows == 0) return;
  visit_float(args.dtype, args.x.data, args.x.row_stride, args.stream,
              [&](auto in) { quantize_rows<decltype(in)>(args); });
}

}  // namespace npu_quant
