#include "core/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/ceil_div.h"
#include "core/pause.h"

namespace npu_quant {
namespace {

// Waking a sleeping thread costs 25-60 us on a virtual machine, a spinning one under 1 us: this
// much work (bytes read and written) pays for it.
constexpr int64_t kWorthSpinningThread = 512 << 10;
constexpr int64_t kWorthSleepingThread = 6 << 20;
constexpr int64_t kMinPieceBytes = 192 << 10;
// What can be stopped is done in pieces of so much work, some 10 ms; or of up to eight times as
// much where it takes that to have the rows together which the kernels gather together.
constexpr int64_t kMostPieceBytes = 64 << 20;
constexpr int64_t kRowsAtOnce = 32;
constexpr auto kBetweenQuestions = std::chrono::milliseconds(30);
constexpr auto kSpinAfterWork = std::chrono::microseconds(100);
constexpr int kTurnsPerClock = 32;  // to read the clock takes as long as a turn, or far longer

std::atomic<int> num_threads{0};
std::atomic<bool> shares_small_work{false};
thread_local StopWhen* stop_of_thread = nullptr;

int available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

struct Job {
  ParallelBody body;
  const void* context;
  int64_t count, piece;
  int seats;  // for workers
  std::atomic<int64_t> next{0};
  int helpers = 0;         // workers inside; guarded by Pool::mutex_
  int64_t paused_at = -1;  // what `next` was, while nobody takes a piece

  // `stop` is the caller's, null for workers.
  void work(StopWhen* stop) {
    for (;;) {
      const int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= count) return;
      body(context, begin, std::min(begin + piece, count));
      if (stop != nullptr && begin + piece < count && stop->ask()) next = count;
    }
  }
  void pause() { paused_at = next.exchange(count); }
  void resume() { next = paused_at; }
};

// What this thread shares with the workers of the pool.
thread_local Job* shared_job = nullptr;

// Threads inherit the mask they are made under: signals are the application's threads' business.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Workers take pieces of the current job; the caller works too and never waits for one that has not
// begun.
class Pool {
 public:
  // False where another caller has the pool: then do the work alone.
  bool try_run(Job& job, StopWhen* stop) {
    if (is_taken_.exchange(true, std::memory_order_acquire)) return false;
    grow(job.seats);
    share(job);
    shared_job = &job;
    job.work(stop);
    if (std::exchange(shared_job, nullptr) == nullptr) return true;  // a child, which did the rest
    withdraw(job);
    is_taken_.store(false, std::memory_order_release);
    return true;
  }

  // Lets workers take pieces of a job.
  void share(Job& job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = &job;
      seats_ = job.seats;
      generation_.fetch_add(1, std::memory_order_release);
    }
    const int asleep = sleeping_.load();
    for (int i = 0; i < std::min(job.seats, asleep); ++i) wake_.notify_one();
  }
  // Returns when no worker is inside any more.
  void withdraw(Job& job) {
    std::unique_lock<std::mutex> lock(mutex_);
    job_ = nullptr;
    done_.wait(lock, [&] { return job.helpers == 0; });
  }

  bool is_hot() const { return spinning_.load(std::memory_order_relaxed) > 0; }

 private:
  void grow(int wanted) {
    if (workers_ >= wanted) return;
    const SignalsBlocked inherited;
    try {
      for (; workers_ < wanted; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::exception&) {
      // No thread or no memory to be had: the caller does the work.
    }
  }

  [[noreturn]] void serve() {
    uint64_t seen = 0;
    for (;;) {
      await(seen);
      Job* job = nullptr;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        seen = generation_.load(std::memory_order_relaxed);
        if (job_ == nullptr || seats_ == 0) continue;
        job = job_;
        --seats_;
        ++job->helpers;
      }
      job->work(nullptr);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--job->helpers == 0) done_.notify_one();
    }
  }

  // Returns when there is a generation newer than `seen`: spins a while, then sleeps.
  void await(uint64_t seen) {
    const auto is_new = [&] { return generation_.load(std::memory_order_acquire) != seen; };
    if (workers_ < available_) {
      ++spinning_;
      const auto until = std::chrono::steady_clock::now() + kSpinAfterWork;
      while (!is_new() && std::chrono::steady_clock::now() < until)
        for (int turn = 0; turn < kTurnsPerClock && !is_new(); ++turn) pause_core();
      --spinning_;
    }
    if (is_new()) return;
    std::unique_lock<std::mutex> lock(mutex_);
    ++sleeping_;
    wake_.wait(lock, is_new);
    --sleeping_;
  }

  // One job at a time. No mutex: who is asked whether to stop may call again, on the same thread.
  std::atomic<bool> is_taken_{false};
  std::mutex mutex_;  // guards job_, seats_, Job::helpers and the sleepers' check
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  int seats_ = 0;
  std::atomic<int> workers_{0}, spinning_{0}, sleeping_{0};
  std::atomic<uint64_t> generation_{0};
  const int available_ =
      available_cpus();  // spinning beyond this many threads would take the CPU from work
};

// Never destroyed: detached workers may outlive static destructors. A forked child has none of the
// parent's workers, and its copy of the pool may be locked: it starts afresh.
std::atomic<Pool*> pool{nullptr};

// Who is asked whether to stop may fork, amid the work of this thread: the pieces that workers have
// taken are done before, so that the child, which does the rest alone, misses none of them.
void before_fork() {
  if (shared_job == nullptr) return;
  shared_job->pause();
  pool.load()->withdraw(*shared_job);
}
void after_fork_in_parent() {
  if (shared_job == nullptr) return;
  shared_job->resume();
  pool.load()->share(*shared_job);
}
void after_fork_in_child() {
  if (shared_job != nullptr) shared_job->resume();
  shared_job = nullptr;
  pool = new Pool;
}

Pool& the_pool() {
  static const bool once = [] {
    pool = new Pool;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return true;
  }();
  (void)once;
  return *pool;
}

}  // namespace

int num_threads_from_environment() {
  if (const char* own = std::getenv("NPU_QUANT_NUM_THREADS")) {
    char* end = nullptr;
    const long n = std::strtol(own, &end, 10);
    return end != own && *end == '\0' && n > 0 && n <= 4096 ? static_cast<int>(n) : 0;
  }
  if (const char* omp = std::getenv("OMP_NUM_THREADS")) {
    const long n = std::strtol(omp, nullptr, 10);  // "4,2" means 4 at the outer level
    if (n > 0 && n <= 4096) return static_cast<int>(n);
  }
  return available_cpus();
}

void initialise_threads() { the_pool(); }

int get_num_threads() {
  int n = num_threads.load(std::memory_order_relaxed);
  if (n != 0) return n;
  const int fresh = std::max(1, num_threads_from_environment());
  return num_threads.compare_exchange_strong(n, fresh) ? fresh : n;
}

void set_num_threads(int n) { num_threads = n; }
void set_shares_small_work(bool shares) { shares_small_work = shares; }

StopWhen::StopWhen(Asked asked) : asked_(asked), outer_(stop_of_thread) { stop_of_thread = this; }
StopWhen::~StopWhen() { stop_of_thread = outer_; }

bool StopWhen::ask() {
  using Clock = std::chrono::steady_clock;
  if (next_question_ == Clock::time_point{}) next_question_ = Clock::now() + kBetweenQuestions;
  if (Clock::now() < next_question_) return false;
  stop_of_thread = nullptr;  // this is not asked about what is done to answer
  stopped_ = asked_();
  stop_of_thread = this;
  next_question_ = Clock::now() + kBetweenQuestions;
  return stopped_;
}

void parallel_for(int64_t count, int64_t bytes, ParallelBody body, const void* context) {
  const bool of_any_size = shares_small_work.load(std::memory_order_relaxed);
  if (bytes < kWorthSpinningThread && !of_any_size) return body(context, 0, count);
  StopWhen* const stop = stop_of_thread;
  if (stop != nullptr && stop->stopped()) return;
  const int threads = get_num_threads();
  bool shared = count > 1 && threads > 1;
  shared = shared && (of_any_size || bytes >= kWorthSleepingThread || the_pool().is_hot());
  int64_t piece = count;
  if (shared) {
    const int64_t most = 8 * static_cast<int64_t>(threads);
    const int64_t pieces =
        of_any_size ? most : std::clamp<int64_t>(bytes / kMinPieceBytes, 1, most);
    piece = ceil_div(count, pieces);
  }
  if (stop != nullptr && count > 1 && bytes > kMostPieceBytes) {
    const int64_t most = count / (bytes / kMostPieceBytes);
    const int64_t whole = most / kRowsAtOnce * kRowsAtOnce;
    const int64_t together = std::clamp<int64_t>(8 * most, 1, kRowsAtOnce);
    piece = std::min(piece, std::max(whole, together));
  }
  if (!shared && piece == count) return body(context, 0, count);
  Job job{body, context, count, piece, threads - 1};
  if (!shared || !the_pool().try_run(job, stop)) job.work(stop);
}

}  // namespace npu_quant
