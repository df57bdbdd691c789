#include "aclnn/src/mutex.h"

#include <pthread.h>

#include <vector>

namespace npu_quant::aclnn {
namespace {

struct AcrossFork {
  std::mutex mutex;
  std::vector<Mutex*> all;  // in the order in which they are made
};

AcrossFork& across_fork() {
  static auto* const kept = [] {
    auto* made = new AcrossFork;
    const auto hold = [] {
      across_fork().mutex.lock();
      for (Mutex* mutex : across_fork().all) mutex->lock();
    };
    const auto release = [] {
      for (Mutex* mutex : across_fork().all) mutex->unlock();
      across_fork().mutex.unlock();
    };
    pthread_atfork(hold, release, release);
    return made;
  }();
  return *kept;
}

}  // namespace

Mutex::Mutex() {
  const std::lock_guard<std::mutex> lock(across_fork().mutex);
  across_fork().all.push_back(this);
}

}  // namespace npu_quant::aclnn
