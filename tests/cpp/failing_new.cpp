#include "failing_new.h"

#include <atomic>
#include <cstdlib>

namespace npu_quant::testing {
namespace {

constexpr int64_t kNever = INT64_MAX;
std::atomic<int64_t> requests{0}, first_to_fail{kNever};
std::atomic<bool> goes_on_failing{false}, failed{false};

void* allocate(std::size_t size) noexcept {
  if (const int64_t first = first_to_fail.load(); first != kNever) {
    const int64_t request = requests.fetch_add(1);
    if (request == first || (request > first && goes_on_failing)) {
      failed = true;
      return nullptr;
    }
  }
  return std::malloc(size == 0 ? 1 : size);
}
void* allocate_or_throw(std::size_t size) {
  void* const memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingNew::FailingNew(int64_t first, bool goes_on) {
  requests = 0;
  failed = false;
  goes_on_failing = goes_on;
  first_to_fail = first;
}
FailingNew::~FailingNew() { first_to_fail = kNever; }
bool FailingNew::has_failed() const { return failed; }

}  // namespace npu_quant::testing

using npu_quant::testing::allocate;
using npu_quant::testing::allocate_or_throw;

void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
