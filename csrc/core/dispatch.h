// One kernel source, several instruction sets: which one runs is decided at run time.
//
// A kernel is a struct with `Args` and `template <Target> static void run(const Args&)`; its .cpp
// is compiled once per target and defines run<kTarget> (simd/vec.h).
#pragma once

namespace npu_quant {

enum class Target { baseline, avx2, avx512 };

inline constexpr Target kAllTargets[] = {Target::baseline, Target::avx2, Target::avx512};

const char* name_of(Target target);

// Whether this build holds the target's code and this CPU runs it (simd/targets.cpp).
bool is_runnable(Target target);

// The fastest runnable target, or the one set_active_target chose. Not synchronised: choose before
// computing.
Target active_target();
void set_active_target(Target target);

// NPU_QUANT_X86_TARGETS is 1 where the build compiles the x86 targets (cmake/targets.cmake).
inline constexpr bool kX86Targets = NPU_QUANT_X86_TARGETS;

template <class Kernel>
void run_on_active_target(const typename Kernel::Args& args) {
  if constexpr (kX86Targets) {
    switch (active_target()) {
      case Target::avx512: return Kernel::template run<Target::avx512>(args);
      case Target::avx2: return Kernel::template run<Target::avx2>(args);
      case Target::baseline: break;
    }
  }
  Kernel::template run<Target::baseline>(args);
}

}  // namespace npu_quant
