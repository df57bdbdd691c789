// Which of the compiled targets this CPU runs.
#include "core/dispatch.h"

#include <atomic>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace npu_quant {
namespace {

std::atomic<int> chosen{-1};

// Measured, from memory, 32768 x 7168: a Zen 4 quantizes per token and per block 1.2 to 1.5 times
// as fast with rows asked for into its second-level cache as into the first, and so does a Xeon
// with AMX, 1.1 to 1.4 times; a Zen 5 is slower so.
CacheLevel find_fastest_for_rows() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return CacheLevel::first;
  const unsigned family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
  constexpr unsigned kZen3And4 = 0x19;
  if (family == kZen3And4 && __builtin_cpu_is("amd")) return CacheLevel::second;
  constexpr unsigned kAmxInt8 = 1u << 25;
  if (__builtin_cpu_is("intel") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
      (edx & kAmxInt8) != 0)
    return CacheLevel::second;
#endif
  return CacheLevel::first;
}

std::atomic<int> chosen_level{-1};

#if defined(__x86_64__)
bool has_avx2() {
  // F16C is no word of every compiler's.
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}

// VBMI, for vpermt2b, and VNNI, for vpdpbusd, besides: Ice Lake, Zen 4 and later. Older AVX-512
// CPUs take the AVX2 target.
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

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
#if defined(__aarch64__)
  return "neon";  // which every CPU has (vec_neon.h)
#else
  return "baseline";
#endif
}

bool is_runnable(Target target) {
  // Asked once: where the machine is a virtual one, each question costs 20 us.
  static const bool avx2 = has_avx2();
  static const bool avx512 = avx2 && has_avx512();
  if (target == Target::baseline) return true;
  return is_built(target) && (target == Target::avx2 ? avx2 : avx512);
}

Target active_target() {
  const int target = chosen.load(std::memory_order_relaxed);
  if (target >= 0) return static_cast<Target>(target);
  int none = -1;
  const int fastest = static_cast<int>(fastest_target());
  return static_cast<Target>(chosen.compare_exchange_strong(none, fastest) ? fastest : none);
}

const char* name_of(CacheLevel of) { return of == CacheLevel::first ? "l1" : "l2"; }
CacheLevel fastest_for_rows() {
  static const CacheLevel fastest = find_fastest_for_rows();
  return fastest;
}
CacheLevel prefetch_level(CacheLevel of_loop) {
  const int level = chosen_level.load(std::memory_order_relaxed);
  return level >= 0 ? static_cast<CacheLevel>(level) : of_loop;
}
void set_prefetch_level(CacheLevel level) { chosen_level = static_cast<int>(level); }

void set_active_target(Target target) { chosen = static_cast<int>(target); }

}  // namespace npu_quant
