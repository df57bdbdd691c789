// One kernel source, several instruction sets: which one runs is decided at run time.
//
// A kernel is a struct with `Args` and `template <Target> static void run(const Args&)`; its .cpp
// is compiled once per target and defines run<kTarget> (simd/vec.h).
#pragma once

namespace npu_quant {

// The baseline is SSE2 on x86-64, and NEON on aarch64.
enum class Target { baseline, avx2, avx512 };

inline constexpr Target kAllTargets[] = {Target::baseline, Target::avx2, Target::avx512};

const char* name_of(Target target);

// Whether this build holds the target's code: NPU_QUANT_HAS_* are 0 or 1 (cmake/targets.cmake).
constexpr bool is_built(Target target) {
  switch (target) {
    case Target::avx512: return NPU_QUANT_HAS_AVX512;
    case Target::avx2: return NPU_QUANT_HAS_AVX2;
    case Target::baseline: break;
  }
  return true;
}

// Whether, besides, this CPU runs it (simd/targets.cpp).
bool is_runnable(Target target);

// The fastest runnable target, or the one set_active_target chose. Not synchronised: choose before
// computing.
Target active_target();
void set_active_target(Target target);

// Which cache a loop asks for the values to come: its own constant says, or fastest_for_rows(),
// what this CPU does best where rows are reduced while others are encoded; in any case what the
// environment says, to measure (simd/targets.cpp).
enum class CacheLevel { first, second };
const char* name_of(CacheLevel level);  // "l1", "l2"
CacheLevel fastest_for_rows();
CacheLevel prefetch_level(CacheLevel of_loop = fastest_for_rows());
void set_prefetch_level(CacheLevel level);

// On a runnable target. Hidden: a library's own kernels are no other's.
template <class Kernel>
[[gnu::visibility("hidden")]] void run_on(Target target, const typename Kernel::Args& args) {
  if constexpr (is_built(Target::avx512))
    if (target == Target::avx512) return Kernel::template run<Target::avx512>(args);
  if constexpr (is_built(Target::avx2))
    if (target == Target::avx2) return Kernel::template run<Target::avx2>(args);
  Kernel::template run<Target::baseline>(args);
}

template <class Kernel>
[[gnu::visibility("hidden")]] void run_on_active_target(const typename Kernel::Args& args) {
  // Asked for only where there is a choice.
  constexpr bool kHasChoice = is_built(Target::avx2) || is_built(Target::avx512);
  run_on<Kernel>(kHasChoice ? active_target() : Target::baseline, args);
}

}  // namespace npu_quant
