// A golden comparison: what is counted and summed of pairs (actual, golden) is in compare.h.
#include "kernels/compare/compare.h"

#include "kernels/compare/codes.h"
#include "kernels/compare/numbers.h"
#include "simd/float_environment.h"

namespace npu_quant {

template <>
void CompareCodesKernel::run<kTarget>(const Args& args) {
  CodeComparer(args).run();
}

template <>
void CompareNumbersKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_keys(args.dtype, [&](auto keys) { NumberComparer<decltype(keys)>(args).run(); });
}

}  // namespace npu_quant
