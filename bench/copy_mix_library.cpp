// The copy as a shared library for ctypes: bench/copy_mix.py.
#include "copy_mix.h"
#include "core/dispatch.h"
#include "core/parallel.h"

using namespace npu_quant;

#define NPU_QUANT_EXPORT extern "C" __attribute__((visibility("default")))

// Which of kByteMixes it is, -1 if none.
NPU_QUANT_EXPORT int copy_mix_find(int inputs, int in, int out, int other_out) {
  for (int i = 0; i < kByteMixCount; ++i) {
    const ByteMix& mix = kByteMixes[i];
    if (mix.inputs == inputs && mix.in == in && mix.out == out && mix.other_out == other_out)
      return i;
  }
  return -1;
}

// Copies n elements `repeats` times, on `threads` threads and with the work cut up as an operator's
// would be. Repeating here keeps the cost of a call out of the yardstick.
NPU_QUANT_EXPORT void copy_mix(const char* const* x, char* const* y, int64_t n, int mix,
                               int streams, int prefetches, int halves, int threads,
                               int64_t repeats) {
  constexpr int64_t kPiece = 4096;
  const auto& [inputs, in, out, other_out] = kByteMixes[mix];
  const CopyForm form{streams != 0, prefetches != 0, halves != 0};
  const auto copy = [&, in = in, out = out, other_out = other_out](int64_t begin, int64_t end) {
    const int64_t first = begin * kPiece, last = end * kPiece < n ? end * kPiece : n;
    run_on_active_target<CopyMixKernel>({{x[0] + in * first, x[1] + in * first},
                                         {y[0] + out * first, y[1] + other_out * first},
                                         last - first,
                                         mix,
                                         form});
  };
  set_num_threads(threads);
  const int64_t bytes = (inputs * in + out + other_out) * n;
  for (; repeats > 0; --repeats) parallel_for((n + kPiece - 1) / kPiece, bytes, copy);
}
