// Mutexes that a forked child finds free.
#pragma once

#include <mutex>

namespace npu_quant::aclnn {

// It is held across every fork: for what is soon done, and objects that are never destroyed. Where
// one is taken while another is held, that one has to be made first.
class Mutex {
 public:
  Mutex();
  Mutex(const Mutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// No fork waits for it: for what may take long. A child has not the thread that held it, and what
// that was doing stays half done there. Not to be locked while a Mutex is held.
class LongMutex {
 public:
  void lock();
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  int made_after_ = 0;  // so many forks, of this process and those it comes from
};

}  // namespace npu_quant::aclnn
