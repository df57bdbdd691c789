#include "exp_kernel.h"

#include "simd/exp.h"

namespace npu_quant {

template <>
void ExpKernel::run<kTarget>(const Args& args) {
  for (int64_t i = 0; i < args.n; i += kLanes) store(args.y + i, exp(load<F32>(args.x + i)));
}

}  // namespace npu_quant
