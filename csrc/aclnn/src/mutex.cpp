#include "aclnn/src/mutex.h"

#include <pthread.h>

#include <new>
#include <vector>

namespace npu_quant::aclnn {
namespace {

struct AcrossFork {
  std::mutex mutex;
  std::vector<Mutex*> all;  // in the order in which they are made
  int forks = 0;            // of this process and those it comes from
};

AcrossFork& across_fork();

void hold() {
  across_fork().mutex.lock();
  for (Mutex* mutex : across_fork().all) mutex->lock();
}
void release() {
  for (Mutex* mutex : across_fork().all) mutex->unlock();
  across_fork().mutex.unlock();
}
void begin_child() {
  ++across_fork().forks;
  release();
}

AcrossFork& across_fork() {
  static auto* const kept = [] {
    auto* made = new AcrossFork;
    pthread_atfork(hold, release, begin_child);
    return made;
  }();
  return *kept;
}

}  // namespace

Mutex::Mutex() {
  const std::lock_guard<std::mutex> lock(across_fork().mutex);
  across_fork().all.push_back(this);
}

void LongMutex::lock() {
  {
    const std::lock_guard<std::mutex> lock(across_fork().mutex);
    if (made_after_ != across_fork().forks) new (&mutex_) std::mutex;  // nobody here holds it
    made_after_ = across_fork().forks;
  }
  mutex_.lock();
}

}  // namespace npu_quant::aclnn
