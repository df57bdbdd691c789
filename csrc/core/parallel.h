// Threads over rows or blocks, never inside a reduction. Fork-safe: a child starts with a pool of
// its own.
#pragma once

#include <chrono>
#include <cstdint>

namespace npu_quant {

// Makes the pool: to be called before any fork, once, from one thread.
void initialise_threads();

int get_num_threads();
void set_num_threads(int n);  // n >= 1

// For tests, which need no large arrays then: threads share work of any size. Not while anything
// computes.
void set_shares_small_work(bool shares);

// NPU_QUANT_NUM_THREADS, else OMP_NUM_THREADS' first number, else the CPUs this process may use.
// Returns 0 where NPU_QUANT_NUM_THREADS is set and is no positive number.
int num_threads_from_environment();

// While one lives, the long work that its thread has parallel_for do can be stopped: `asked` is
// called between pieces, on that thread, a few times a tenth of a second. Where it says yes the
// rest of the work is left undone, by this and every later long parallel_for; what there is by then
// is for whoever made this to judge.
class StopWhen {
 public:
  using Asked = bool (*)();

  explicit StopWhen(Asked asked);
  ~StopWhen();
  StopWhen(const StopWhen&) = delete;

  bool stopped() const { return stopped_; }
  bool ask();  // parallel_for does, after each piece

 private:
  const Asked asked_;
  StopWhen* const outer_;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point next_question_{};
};

using ParallelBody = void (*)(const void* context, int64_t begin, int64_t end);

// Calls body over disjoint ranges that cover [0, count). `bytes` is what the whole work reads and
// writes: small work stays on the caller's thread. body must not throw.
void parallel_for(int64_t count, int64_t bytes, ParallelBody body, const void* context);

template <class Body>
void parallel_for(int64_t count, int64_t bytes, const Body& body) {
  const auto call = [](const void* context, int64_t begin, int64_t end) {
    (*static_cast<const Body*>(context))(begin, end);
  };
  parallel_for(count, bytes, call, &body);
}

}  // namespace npu_quant
