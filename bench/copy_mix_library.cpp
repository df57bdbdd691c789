// The copy as a shared library for ctypes: bench/copy_mix.py.
#include <cstring>

#include "copy_mix.h"
#include "core/parallel.h"

using namespace npu_quant;

#define NPU_QUANT_EXPORT extern "C" __attribute__((visibility("default")))

// Chooses the instruction set. Returns 0 where this CPU does not run it.
NPU_QUANT_EXPORT int copy_mix_set_target(const char* name) {
  for (const Target target : kAllTargets) {
    if (std::strcmp(name_of(target), name) != 0 || !is_runnable(target)) continue;
    set_active_target(target);
    return 1;
  }
  return 0;
}

// Copies `repeats` times, on `threads` threads and with the work cut up as an operator's would be.
// Repeating here keeps the cost of a call out of the yardstick. Returns 0 for a ratio it does not
// know.
NPU_QUANT_EXPORT int copy_mix(const char* x, char* y, int64_t n, int ratio, int streams,
                              int prefetches, int halves, int threads, int64_t repeats) {
  constexpr int64_t kPiece = 4096;
  if (ratio < 1 || ratio > CopyMixKernel::kMaxRatio) return 0;
  const CopyForm form{streams != 0, prefetches != 0, halves != 0};
  const auto copy = [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kPiece, last = end * kPiece < n ? end * kPiece : n;
    run_on_active_target<CopyMixKernel>({x + ratio * first, y + first, last - first, ratio, form});
  };
  set_num_threads(threads);
  for (; repeats > 0; --repeats) parallel_for((n + kPiece - 1) / kPiece, (ratio + 1) * n, copy);
  return 1;
}
