// Which of the compiled targets this CPU runs.
#include "core/dispatch.h"

#include <atomic>
#include <initializer_list>

namespace npu_quant {
namespace {

std::atomic<int> chosen{-1};

Target fastest_target() {
  for (const Target target : {Target::avx512, Target::avx2})
    if (is_runnable(target)) return target;
  return Target::baseline;
}

}  // namespace

const char* name_of(Target target) {
  switch (target) {
    case Target::avx512: return "avx512";
    case Target::avx2: return "avx2";
    case Target::baseline: break;
  }
  return "baseline";
}

bool is_runnable(Target target) {
  if (target == Target::baseline) return true;
  if (!is_built(target)) return false;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  if (target == Target::avx2) return avx2;
  // VBMI, for vpermt2b: Ice Lake, Zen 4 and later. Older AVX-512 CPUs take the AVX2 target.
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vbmi");
#else
  return false;
#endif
}

Target active_target() {
  const int target = chosen.load(std::memory_order_relaxed);
  if (target >= 0) return static_cast<Target>(target);
  int none = -1;
  const int fastest = static_cast<int>(fastest_target());
  return static_cast<Target>(chosen.compare_exchange_strong(none, fastest) ? fastest : none);
}

void set_active_target(Target target) { chosen = static_cast<int>(target); }

}  // namespace npu_quant
