// Runs kernels on one of the targets that this build holds. Kernels themselves do not include this
// file: they are not compiled again when other targets are added.
#pragma once

#include "core/target.h"

namespace npu_quant {

// NPU_QUANT_HAS_* are 0 or 1 (cmake/targets.cmake).
constexpr bool is_built(Target target) {
  switch (target) {
    case Target::avx512: return NPU_QUANT_HAS_AVX512;
    case Target::avx2: return NPU_QUANT_HAS_AVX2;
    case Target::baseline: break;
  }
  return NPU_QUANT_HAS_BASELINE;
}

// On a runnable target. Hidden: a library's own kernels are no other's.
template <class Kernel>
[[gnu::visibility("hidden")]] void run_on(Target target, const typename Kernel::Args& args) {
  if constexpr (is_built(Target::avx512))
    if (target == Target::avx512) return Kernel::template run<Target::avx512>(args);
  if constexpr (is_built(Target::avx2))
    if (target == Target::avx2) return Kernel::template run<Target::avx2>(args);
  if constexpr (is_built(Target::baseline))
    Kernel::template run<Target::baseline>(args);
  else
    __builtin_trap();
}

template <class Kernel>
[[gnu::visibility("hidden")]] void run_on_active_target(const typename Kernel::Args& args) {
  run_on<Kernel>(active_target(), args);
}

}  // namespace npu_quant
