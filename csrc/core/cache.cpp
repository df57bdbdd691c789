#include "core/cache.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>

namespace npu_quant {
namespace {

// From the kernel's own list: sysconf reports all of a socket's caches together on some AMD
// machines. A virtual machine may be told of a whole socket's cache, which others fill as well: on
// a Xeon that speaks of 480 MiB streaming stores take 1.0 of the time of others for 48 MiB, 0.9 for
// 72 and 0.7 for 96.
int64_t last_level_cache_bytes() {
  constexpr int64_t kUnknown = 32 << 20, kOfASocket = 64 << 20, kMost = 128 << 20;
  int64_t kib = 0;
  if (std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r")) {
    if (std::fscanf(file, "%" SCNd64, &kib) != 1) kib = 0;
    std::fclose(file);
  }
  const int64_t bytes = kib << 10;
  if (bytes <= 0) return kUnknown;
  return bytes <= kMost ? bytes : kOfASocket;
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
