#include "aclnn/src/report.h"

#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <deque>

#include "acl/acl_rt.h"

namespace npu_quant::aclnn {
namespace {

constexpr size_t kMostMessages = 16;

struct Messages {
  std::deque<std::string> newest_first;
  std::string shown;  // what aclGetRecentErrMsg returned last
};
thread_local Messages messages;

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

int report(int code, const char* function, const std::string& reason) noexcept {
  try {
    auto& kept = messages.newest_first;
    kept.push_front("[PID:" + std::to_string(getpid()) + "] " + timestamp() + " " + title_of(code) +
                    ": " + function + ": " + reason);
    if (kept.size() > kMostMessages) kept.pop_back();
  } catch (...) {  // the code has to do
  }
  return code;
}

}  // namespace npu_quant::aclnn

using npu_quant::aclnn::messages;

const char* aclGetRecentErrMsg() {
  if (messages.newest_first.empty()) return nullptr;
  try {
    std::string text;
    for (const std::string& message : messages.newest_first)
      text += (text.empty() ? "" : "\n") + message;
    messages.shown = std::move(text);
  } catch (...) {
    return nullptr;
  }
  messages.newest_first.clear();
  return messages.shown.c_str();
}
