// The process, its device, contexts and streams. Work is done when it is launched, on the thread
// that launches it: one of the orders in which a device may do it.
#include "aclnn/src/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "aclnn/aclnn_base.h"
#include "aclnn/src/registry.h"
#include "ops/contract/environment.h"

namespace npu_quant::aclnn {
namespace {

struct Stream {};
struct Context {};
using Streams = Registry<Stream, void, Kind::stream>;
using Contexts = Registry<Context, void, Kind::context>;

constexpr int32_t kDevices = 1;

// One for the process, never destroyed.
struct Runtime {
  Mutex mutex;               // taken before those of streams and contexts
  uint64_t initialised = 0;  // how often
  uint64_t device_set = 0;
  aclrtContext default_context = nullptr;
  Streams streams;
  Contexts contexts;
};

Runtime& runtime() {
  static auto* const kept = new Runtime;
  return *kept;
}
[[maybe_unused]] const Runtime& runtime_loaded = runtime();  // before any fork

thread_local aclrtContext current_context = nullptr;

int no_device(const char* function) {
  return report(ACL_ERROR_RT_CONTEXT_NULL, function,
                "no device is set. Call aclrtSetDevice first.");
}

int check_device_id(const char* function, int32_t id) {
  if (id >= 0 && id < kDevices) return ACL_SUCCESS;
  return report(ACL_ERROR_RT_INVALID_DEVICEID, function,
                "deviceId is " + std::to_string(id) + ", expected 0.");
}

// The device's own, or one this thread has made current.
bool has_context() {
  if (runtime().contexts.knows(current_context)) return true;
  const std::lock_guard<Mutex> lock(runtime().mutex);
  return runtime().device_set > 0;
}

int cannot_read(const char* function, const char* path) {
  return report(ACL_ERROR_INVALID_FILE, function,
                "configPath " + quoted(path) + " cannot be read.");
}

int check_config(const char* function, const char* path) {
  if (!environment().status.ok())
    return report(ACL_ERROR_INVALID_PARAM, function, sentence_of(environment().status));
  if (path == nullptr || *path == '\0') return ACL_SUCCESS;
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) return cannot_read(function, path);
  std::fgetc(file);
  const bool is_readable = std::ferror(file) == 0;  // a folder is not
  std::fclose(file);
  return is_readable ? ACL_SUCCESS : cannot_read(function, path);
}

int reset_device(const char* function, int32_t id, bool all) {
  if (const int code = check_device_id(function, id); code != ACL_SUCCESS) return code;
  Runtime& r = runtime();
  const std::lock_guard<Mutex> lock(r.mutex);
  if (r.device_set == 0) return no_device(function);
  r.device_set = all ? 0 : r.device_set - 1;
  if (r.device_set > 0) return ACL_SUCCESS;
  r.streams.clear();
  r.contexts.clear();
  r.default_context = nullptr;
  return ACL_SUCCESS;
}

int create_stream(const char* function, aclrtStream* stream) {
  if (stream == nullptr) return report_null(function, "stream");
  if (!has_context()) return no_device(function);
  void* const made = runtime().streams.add({});
  if (made == nullptr)
    return report(ACL_ERROR_RT_INTERNAL_ERROR, function, "there are too many streams.");
  *stream = made;
  return ACL_SUCCESS;
}

int synchronize(const char* function, aclrtStream stream) {
  if (stream == nullptr) return has_context() ? ACL_SUCCESS : no_device(function);
  return check_stream(function, stream);
}

int unknown(const char* function, const char* what) {
  return report(ACL_ERROR_RT_PARAM_INVALID, function,
                std::string("there is no such ") + what + ".");
}

}  // namespace

int report_null(const char* function, const char* argument) {
  return report(ACL_ERROR_INVALID_PARAM, function, std::string(argument) + " is NULL.");
}

bool is_stream(aclrtStream stream) { return stream == nullptr || runtime().streams.knows(stream); }

int check_stream(const char* function, aclrtStream stream) {
  return is_stream(stream) ? ACL_SUCCESS : unknown(function, "stream");
}

}  // namespace npu_quant::aclnn

using namespace npu_quant::aclnn;

aclError aclInit(const char* configPath) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (const int code = check_config(function, configPath); code != ACL_SUCCESS) return code;
    const std::lock_guard<Mutex> lock(runtime().mutex);
    if (runtime().initialised++ == 0) return ACL_SUCCESS;
    return report(ACL_ERROR_REPEAT_INITIALIZE, function, "aclInit has been called before.");
  });
}

aclError aclFinalize() {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    const std::lock_guard<Mutex> lock(runtime().mutex);
    if (runtime().initialised == 0)
      return report(ACL_ERROR_REPEAT_FINALIZE, function, "aclInit has not been called.");
    runtime().initialised = 0;
    return ACL_SUCCESS;
  });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    const std::lock_guard<Mutex> lock(runtime().mutex);
    if (runtime().initialised == 0)
      return report(ACL_ERROR_REPEAT_FINALIZE, function, "aclInit has not been called.");
    --runtime().initialised;
    if (refCount != nullptr) *refCount = runtime().initialised;
    return ACL_SUCCESS;
  });
}

aclnnStatus aclnnInit(const char* configPath) {
  return guarded_runtime(__func__,
                         [&](const char* function) { return check_config(function, configPath); });
}

aclnnStatus aclnnFinalize() { return OK; }

aclError aclrtSetDevice(int32_t deviceId) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (const int code = check_device_id(function, deviceId); code != ACL_SUCCESS) return code;
    Runtime& r = runtime();
    const std::lock_guard<Mutex> lock(r.mutex);
    if (r.device_set == 0) r.default_context = r.contexts.add({});
    ++r.device_set;
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return guarded_runtime(
      __func__, [&](const char* function) { return reset_device(function, deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return guarded_runtime(
      __func__, [&](const char* function) { return reset_device(function, deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (deviceId == nullptr) return report_null(function, "deviceId");
    if (!has_context()) return no_device(function);
    *deviceId = 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (count == nullptr) return report_null(function, "count");
    *count = kDevices;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (runMode == nullptr) return report_null(function, "runMode");
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (context == nullptr) return report_null(function, "context");
    if (const int code = check_device_id(function, deviceId); code != ACL_SUCCESS) return code;
    void* const made = runtime().contexts.add({});
    if (made == nullptr)
      return report(ACL_ERROR_RT_INTERNAL_ERROR, function, "there are too many contexts.");
    *context = current_context = made;
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (context == nullptr) return report_null(function, "context");
    const std::lock_guard<Mutex> lock(runtime().mutex);
    if (context == runtime().default_context)
      return report(ACL_ERROR_RT_PARAM_INVALID, function,
                    "context is the device's own, which aclrtResetDevice destroys.");
    if (!runtime().contexts.remove(context)) return unknown(function, "context");
    if (current_context == context) current_context = nullptr;
    return ACL_SUCCESS;
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (context == nullptr) return report_null(function, "context");
    if (!runtime().contexts.knows(context)) return unknown(function, "context");
    current_context = context;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (context == nullptr) return report_null(function, "context");
    if (!runtime().contexts.knows(current_context)) current_context = nullptr;
    const std::lock_guard<Mutex> lock(runtime().mutex);
    void* const found = current_context != nullptr ? current_context : runtime().default_context;
    if (found == nullptr) return no_device(function);
    *context = found;
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateStream(aclrtStream* stream) {
  return guarded_runtime(__func__,
                         [&](const char* function) { return create_stream(function, stream); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return guarded_runtime(__func__,
                         [&](const char* function) { return create_stream(function, stream); });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (stream == nullptr) return report_null(function, "stream");
    return runtime().streams.remove(stream) ? ACL_SUCCESS : unknown(function, "stream");
  });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return guarded_runtime(__func__,
                         [&](const char* function) { return synchronize(function, stream); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    if (timeout < -1)
      return report(ACL_ERROR_RT_PARAM_INVALID, function,
                    "timeout is " + std::to_string(timeout) + ", expected -1 or more.");
    return synchronize(function, stream);
  });
}

aclError aclrtSynchronizeDevice() {
  return guarded_runtime(__func__, [&](const char* function) -> int {
    return has_context() ? ACL_SUCCESS : no_device(function);
  });
}

const char* aclrtGetSocName() { return std::getenv("NPU_QUANT_SOC_NAME"); }
