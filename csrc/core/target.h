// The instruction sets that kernels are compiled for.
//
// A kernel is a struct with `Args` and `template <Target> static void run(const Args&)`; its .cpp
// is compiled once per target and defines run<kTarget> (simd/vec.h). What runs kernels says which
// at run time (core/dispatch.h).
#pragma once

namespace npu_quant {

// The baseline is SSE2 on x86-64, and NEON on aarch64.
enum class Target { baseline, avx2, avx512 };

inline constexpr Target kAllTargets[] = {Target::baseline, Target::avx2, Target::avx512};

const char* name_of(Target target);

// Whether this build holds the target's code, and this CPU runs it (simd/targets.cpp).
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

}  // namespace npu_quant
