#include "core/cache.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>

namespace npu_quant {
namespace {

// From the kernel's own list: sysconf reports all of a socket's caches together on some AMD
// machines. Where that is not known, and where a virtual machine is told of a whole socket's cache,
// which others fill as well, it is taken for what a few cores have: an Intel Xeon that speaks of
// 480 MiB quantizes 100 MiB by streaming stores in 0.7 of the time.
int64_t last_level_cache_bytes() {
  constexpr int64_t kOfFewCores = 32 << 20, kMostOfFewCores = 128 << 20;
  int64_t kib = 0;
  if (std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r")) {
    if (std::fscanf(file, "%" SCNd64, &kib) != 1) kib = 0;
    std::fclose(file);
  }
  const int64_t bytes = kib << 10;
  return bytes > 0 && bytes <= kMostOfFewCores ? bytes : kOfFewCores;
}

// Read when the library is loaded: the first call may be in a thread while another forks.
const int64_t last_level_cache = last_level_cache_bytes();

std::atomic<Streaming> chosen_streaming{Streaming::by_size};

}  // namespace

const char* name_of(Streaming streaming) {
  switch (streaming) {
    case Streaming::always: return "always";
    case Streaming::never: return "never";
    case Streaming::by_size: break;
  }
  return "auto";
}

Streaming streaming() { return chosen_streaming.load(std::memory_order_relaxed); }
void set_streaming(Streaming streaming) { chosen_streaming = streaming; }

bool worth_streaming(int64_t bytes) {
  if (const Streaming chosen = streaming(); chosen != Streaming::by_size)
    return chosen == Streaming::always;
  // Measured on Zen 4 and Zen 5: streaming stores pay from 0.75-1.5 of the last-level cache on. The
  // same bound for any number of threads, so that two are never slower than one.
  return bytes > last_level_cache;
}

}  // namespace npu_quant
