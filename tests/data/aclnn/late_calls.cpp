// Calls that are refused after main and while a thread ends: they get their codes.
#include <cstdlib>
#include <thread>

#include "acl/acl.h"

namespace {

struct Late {
  ~Late() {
    for (int i = 0; i < 40; ++i)
      if (aclrtFree(reinterpret_cast<void*>(0x1234)) != 107000) std::_Exit(2);
    if (aclGetRecentErrMsg() == nullptr) std::_Exit(3);
  }
  void begin() {}  // being used, it is made, and so it is destroyed
};

Late after_main;
thread_local Late made_first, made_last;

void call_in_between() {
  made_first.begin();
  aclInit(nullptr);
  aclInit(nullptr);
  made_last.begin();
}

}  // namespace

int main() {
  std::thread(call_in_between).join();
  call_in_between();
}
