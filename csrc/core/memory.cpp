#include "core/memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace npu_quant {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kMaxKept = 256U << 20;  // bytes kept for reuse, all together
constexpr std::size_t kMaxKeptBuffers = 8;

struct Buffer {
  void* data;
  std::size_t bytes;
};

class Recycler {
 public:
  Recycler() { kept_.reserve(kMaxKeptBuffers + 1); }  // giving back must not need memory

  void* take(std::size_t bytes) {
    if (bytes > SIZE_MAX - 2 * kHugePage) return nullptr;
    bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto fits = [&](const Buffer& b) { return b.bytes >= bytes && b.bytes <= 2 * bytes; };
    const auto found =
        std::find_if(kept_.rbegin(), kept_.rend(), fits);  // the last freed is the warmest
    Buffer buffer{nullptr, bytes};
    if (found != kept_.rend()) {
      buffer = *found;
      kept_bytes_ -= buffer.bytes;
      kept_.erase(std::next(found).base());
    } else if ((buffer.data = map(bytes)) == nullptr) {
      release_kept();  // what is kept may be what is missing
      if ((buffer.data = map(bytes)) == nullptr) return nullptr;
    }
    try {
      lent_[buffer.data] = buffer.bytes;
    } catch (const std::bad_alloc&) {
      munmap(buffer.data, buffer.bytes);
      return nullptr;
    }
    return buffer.data;
  }

  void give_back(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto entry = lent_.find(data);
    kept_.push_back({data, entry->second});
    kept_bytes_ += entry->second;
    lent_.erase(entry);
    while (kept_bytes_ > kMaxKept || kept_.size() > kMaxKeptBuffers) {
      munmap(kept_.front().data, kept_.front().bytes);
      kept_bytes_ -= kept_.front().bytes;
      kept_.erase(kept_.begin());
    }
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  void release_kept() {
    for (const Buffer& buffer : kept_) munmap(buffer.data, buffer.bytes);
    kept_.clear();
    kept_bytes_ = 0;
  }

  // Maps one huge page more than asked for and cuts off what lies outside the alignment.
  static void* map(std::size_t bytes) {
    void* raw = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    auto* const start = static_cast<char*>(raw);
    const std::size_t head = (kHugePage - reinterpret_cast<uintptr_t>(raw) % kHugePage) % kHugePage;
    if (head > 0) munmap(start, head);
    if (head < kHugePage) munmap(start + head + bytes, kHugePage - head);
    madvise(start + head, bytes, MADV_HUGEPAGE);  // a wish: without it the pages are small
    return start + head;
  }

  std::mutex mutex_;
  std::vector<Buffer> kept_;  // oldest first
  std::size_t kept_bytes_ = 0;
  std::unordered_map<void*, std::size_t> lent_;
};

// Never destroyed: arrays may outlive static destructors. Held over a fork, so that the child's
// copy is whole.
Recycler& recycler() {
  static Recycler* const instance = [] {
    auto* r = new Recycler;
    pthread_atfork([] { recycler().lock(); }, [] { recycler().unlock(); },
                   [] { recycler().unlock(); });
    return r;
  }();
  return *instance;
}

}  // namespace

void initialise_memory() { recycler(); }

void* allocate_large(std::size_t bytes) { return recycler().take(bytes); }

void free_large(void* data) noexcept { recycler().give_back(data); }

}  // namespace npu_quant
