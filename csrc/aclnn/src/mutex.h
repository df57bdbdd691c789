// A mutex that a forked child finds free: it is held across every fork.
#pragma once

#include <mutex>

namespace npu_quant::aclnn {

// For objects that are never destroyed. Where one is taken while another is held, that one has to
// be made first.
class Mutex {
 public:
  Mutex();
  Mutex(const Mutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace npu_quant::aclnn
