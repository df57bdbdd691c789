#include "aclnn/src/report.h"

#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "acl/acl_rt.h"

namespace npu_quant::aclnn {
namespace {

constexpr size_t kMostMessages = 16;

struct Messages {
  std::vector<std::string> oldest_first;
  std::string shown;  // what aclGetRecentErrMsg returned last
};

// By a key of POSIX, not thread_local: the destructors of a caller's own thread_local and static
// objects may still report. A process has few keys: where they are used up there are no messages.
struct Key {
  pthread_key_t key{};
  bool is_made = pthread_key_create(
                     &key, [](void* messages) { delete static_cast<Messages*>(messages); }) == 0;
};

const Key& messages_key() {
  static const Key kept;
  return kept;
}

[[maybe_unused]] const Key& key_loaded = messages_key();  // before any fork

// This thread's; made when there is the first, null where there is no place for it.
Messages* find_messages() {
  const Key& key = messages_key();
  return key.is_made ? static_cast<Messages*>(pthread_getspecific(key.key)) : nullptr;
}
Messages* make_messages() {
  const Key& key = messages_key();
  Messages* const made = key.is_made ? new (std::nothrow) Messages : nullptr;
  if (made != nullptr && pthread_setspecific(key.key, made) == 0) return made;
  delete made;
  return nullptr;
}

struct Frame {
  int first, last;  // of the codes
  const char* title;
};
constexpr Frame kFrames[] = {
    {161000, 161999, "AclNN_Parameter_Error(EZ1001)"},
    {361000, 361999, "AclNN_Runtime_Error(EZ9903)"},
    {561000, 561999, "AclNN_Inner_Error(EZ9999)"},
    {100000, 199999, "ACL_Parameter_Error(EZ1001)"},
    {0, 999999, "ACL_Runtime_Error(EZ9903)"},
};

const char* title_of(int code) {
  for (const Frame& frame : kFrames)
    if (code >= frame.first && code <= frame.last) return frame.title;
  return "Error";
}

std::string timestamp() {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  char day[32], text[48];
  std::strftime(day, sizeof day, "%Y-%m-%d-%H:%M:%S", &local);
  std::snprintf(text, sizeof text, "%s.%03d", day, static_cast<int>(now.tv_usec / 1000));
  return text;
}

}  // namespace

int report(int code, const char* function, std::string_view reason) noexcept {
  try {
    Messages* messages = find_messages();
    if (messages == nullptr) messages = make_messages();
    if (messages == nullptr) return code;
    auto& kept = messages->oldest_first;
    std::string message = "[PID:" + std::to_string(getpid()) + "] " + timestamp() + " " +
                          title_of(code) + ": " + function + ": ";
    message += reason;
    if (kept.size() == kMostMessages) kept.erase(kept.begin());
    kept.push_back(std::move(message));
  } catch (...) {
  }
  return code;
}

namespace {

const char* take_messages(Messages& messages) {
  std::string text;
  auto& kept = messages.oldest_first;
  for (auto message = kept.rbegin(); message != kept.rend(); ++message)
    text += (text.empty() ? "" : "\n") + *message;
  messages.shown = std::move(text);
  kept.clear();
  return messages.shown.c_str();
}

}  // namespace
}  // namespace npu_quant::aclnn

const char* aclGetRecentErrMsg() {
  auto* const messages = npu_quant::aclnn::find_messages();
  if (messages == nullptr || messages->oldest_first.empty()) return nullptr;
  try {
    return npu_quant::aclnn::take_messages(*messages);
  } catch (...) {
    return nullptr;
  }
}
