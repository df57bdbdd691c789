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

#if defined(__x86_64__)
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

// What the CPU says of itself; zeros for a leaf that it lacks. Of __builtin_cpu_supports there are
// toolchains that say no to everything, without a word, which cost all but the baseline.
Leaf cpuid(unsigned number) {
  Leaf leaf;
  __get_cpuid_count(number, 0, &leaf.a, &leaf.b, &leaf.c, &leaf.d);
  return leaf;
}

bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }
#endif

// Measured, from memory, 32768 x 7168: a Zen 4 quantizes per token and per block 1.2 to 1.5 times
// as fast with rows asked for into its second-level cache as into the first, and so does a Xeon
// with AMX, 1.1 to 1.4 times; a Zen 5 is slower so.
CacheLevel find_fastest_for_rows() {
#if defined(__x86_64__)
  const unsigned vendor = cpuid(0).b, version = cpuid(1).a;
  const unsigned family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
  constexpr unsigned kZen3And4 = 0x19, kAmxInt8 = 1u << 25;
  if (vendor == signature_AMD_ebx && family == kZen3And4) return CacheLevel::second;
  if (vendor == signature_INTEL_ebx && has(cpuid(7).d, kAmxInt8)) return CacheLevel::second;
#endif
  return CacheLevel::first;
}

std::atomic<int> chosen_level{-1};

// What a function finds out, which is asked once: where the machine is a virtual one, each question
// costs 20 us. No static variable of a function: a child that is forked while another thread finds
// it out would wait for that thread for ever.
template <class T>
T known(std::atomic<int>& kept, T (*find)()) {
  int value = kept.load(std::memory_order_relaxed);
  if (value < 0) kept.store(value = static_cast<int>(find()), std::memory_order_relaxed);
  return static_cast<T>(value);
}
std::atomic<int> known_target{-1}, known_level{-1};

// The best that this CPU and its system run, built or not. AVX-512 with VBMI, for vpermt2b, and
// VNNI, for vpdpbusd: Ice Lake, Zen 4 and later. Older AVX-512 CPUs take the AVX2 target.
Target find_best_target() {
#if defined(__x86_64__)
  const Leaf one = cpuid(1), seven = cpuid(7);
  if (!has(one.c, bit_OSXSAVE)) return Target::baseline;
  unsigned saved = 0, upper = 0;  // the registers that the system saves of each thread
  __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
  constexpr unsigned kYmm = 0x06, kZmm = 0xe6;
  if (!has(saved, kYmm) || !has(one.c, bit_AVX | bit_FMA | bit_F16C) ||
      !has(seven.b, bit_AVX2 | bit_BMI2))
    return Target::baseline;
  const bool has_avx512 = has(saved, kZmm) && has(seven.c, bit_AVX512VBMI | bit_AVX512VNNI) &&
                          has(seven.b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL);
  return has_avx512 ? Target::avx512 : Target::avx2;
#else
  return Target::baseline;
#endif
}
Target best_target() { return known(known_target, find_best_target); }

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

bool is_runnable(Target target) { return is_built(target) && target <= best_target(); }

Target active_target() {
  const int target = chosen.load(std::memory_order_relaxed);
  if (target >= 0) return static_cast<Target>(target);
  int none = -1;
  const int fastest = static_cast<int>(fastest_target());
  return static_cast<Target>(chosen.compare_exchange_strong(none, fastest) ? fastest : none);
}

const char* name_of(CacheLevel of) { return of == CacheLevel::first ? "l1" : "l2"; }
CacheLevel fastest_for_rows() { return known(known_level, find_fastest_for_rows); }
CacheLevel prefetch_level(CacheLevel of_loop) {
  const int level = chosen_level.load(std::memory_order_relaxed);
  return level >= 0 ? static_cast<CacheLevel>(level) : of_loop;
}
void set_prefetch_level(CacheLevel level) { chosen_level = static_cast<int>(level); }

void set_active_target(Target target) { chosen = static_cast<int>(target); }

}  // namespace npu_quant
