// The library is loaded where no key of POSIX is left: its calls return their codes, there are no
// messages, and it leaves other libraries' keys alone.
#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (condition) break;                                                    \
    std::fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
    std::_Exit(1);                                                           \
  } while (false)

template <class Function>
Function* find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  CHECK(found != nullptr);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

int main() {
  std::vector<pthread_key_t> keys;
  for (pthread_key_t key; pthread_key_create(&key, nullptr) == 0;) keys.push_back(key);
  CHECK(!keys.empty() && keys.front() == 0);
  static uint64_t own[64];  // what would be read as messages is none
  for (const pthread_key_t key : keys) CHECK(pthread_setspecific(key, own) == 0);
  void* const library = dlopen("libnpu_quant_aclnn.so", RTLD_NOW);
  CHECK(library != nullptr);
  CHECK(find<int(void*)>(library, "aclrtFree")(nullptr) == 100000);
  CHECK(find<const char*()>(library, "aclGetRecentErrMsg")() == nullptr);
  for (const pthread_key_t key : keys) CHECK(pthread_getspecific(key) == own);
  for (const uint64_t word : own) CHECK(word == 0);
}
