#include "aclnn/src/memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "acl/acl_rt.h"
#include "aclnn/src/data_type.h"
#include "aclnn/src/mutex.h"
#include "aclnn/src/runtime.h"

namespace npu_quant::aclnn {
namespace {

constexpr size_t kAlignment = 64;

enum class Owner { device, host };

class Blocks {
 public:
  // Zeroed: results are to be repeatable. The padding is the device's: programs rely on it.
  int allocate(const char* function, Owner owner, void** address, size_t size) {
    if (address == nullptr) return report_null(function, "the pointer");
    if (size == 0) return report(ACL_ERROR_INVALID_PARAM, function, "size is 0.");
    if (size > SIZE_MAX / 2) return report(ACL_ERROR_INVALID_PARAM, function, "size overflows.");
    const size_t real = (size + 31) / 32 * 32 + 32;
    void* const memory = std::calloc(1, real + kAlignment);
    if (memory == nullptr) return out_of_memory(function, size);
    const uintptr_t begin =
        (reinterpret_cast<uintptr_t>(memory) + kAlignment - 1) / kAlignment * kAlignment;
    try {
      const std::lock_guard<Mutex> lock(mutex_);
      blocks_[begin] = {memory, real, owner};
    } catch (...) {
      std::free(memory);
      return out_of_memory(function, size);
    }
    *address = reinterpret_cast<void*>(begin);
    return ACL_SUCCESS;
  }

  int release(const char* function, Owner owner, void* address) {
    if (address == nullptr) return report_null(function, "the pointer");
    void* memory = nullptr;
    {
      const std::lock_guard<Mutex> lock(mutex_);
      const auto block = blocks_.find(reinterpret_cast<uintptr_t>(address));
      if (block == blocks_.end() || block->second.owner != owner)
        return report(ACL_ERROR_RT_PARAM_INVALID, function,
                      "no live memory block begins at the pointer.");
      memory = block->second.memory;
      blocks_.erase(block);
    }
    std::free(memory);
    return ACL_SUCCESS;
  }

  int find_overrun(const Range* ranges, int count) {
    const std::lock_guard<Mutex> lock(mutex_);
    int i = 0;
    while (i < count && holds(ranges[i])) ++i;
    return i;
  }

 private:
  struct Block {
    void* memory;  // what calloc gave
    size_t real_size;
    Owner owner;
  };

  bool holds(const Range& range) const {
    const auto begin = reinterpret_cast<uintptr_t>(range.begin);
    auto block = blocks_.upper_bound(begin);
    if (block == blocks_.begin()) return true;
    --block;
    const size_t offset = begin - block->first, real_size = block->second.real_size;
    return offset >= real_size || range.size <= real_size - offset;
  }

  static int out_of_memory(const char* function, size_t size) {
    return report(ACL_ERROR_RT_MEMORY_ALLOCATION, function,
                  "no memory for " + std::to_string(size) + " bytes.");
  }

  Mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
};

// Never destroyed: a program may free what it holds after main.
Blocks& blocks() {
  static auto* const kept = new Blocks;
  return *kept;
}
[[maybe_unused]] const Blocks& blocks_loaded = blocks();  // before any fork

bool overruns(const void* begin, size_t count) {
  const Range range{begin, count};
  return blocks().find_overrun(&range, 1) == 0;
}

int copy(const char* function, void* to, size_t most, const void* from, size_t count, int kind) {
  if (count == 0) return ACL_SUCCESS;
  if (to == nullptr) return report_null(function, "dst");
  if (from == nullptr) return report_null(function, "src");
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE)
    return report(ACL_ERROR_INVALID_PARAM, function,
                  "kind is " + std::to_string(kind) + ", expected 0 to 5.");
  if (most < count)
    return report(
        ACL_ERROR_RT_PARAM_INVALID, function,
        "count is " + std::to_string(count) + ", but destMax is " + std::to_string(most) + ".");
  if (to == from) return ACL_SUCCESS;
  if (overruns(to, count))
    return report(ACL_ERROR_RT_PARAM_INVALID, function, "dst runs past the end of its block.");
  if (overruns(from, count))
    return report(ACL_ERROR_RT_PARAM_INVALID, function, "src runs past the end of its block.");
  std::memmove(to, from, count);
  return ACL_SUCCESS;
}

int fill(const char* function, void* memory, size_t most, int32_t value, size_t count) {
  if (count == 0) return ACL_SUCCESS;
  if (memory == nullptr) return report_null(function, "devPtr");
  if (count > most)
    return report(
        ACL_ERROR_RT_PARAM_INVALID, function,
        "count is " + std::to_string(count) + ", but maxCount is " + std::to_string(most) + ".");
  if (overruns(memory, count))
    return report(ACL_ERROR_RT_PARAM_INVALID, function, "devPtr runs past the end of its block.");
  std::memset(memory, value, count);
  return ACL_SUCCESS;
}

}  // namespace

int find_overrun(const Range* ranges, int count) { return blocks().find_overrun(ranges, count); }

}  // namespace npu_quant::aclnn

using namespace npu_quant::aclnn;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return guarded_runtime(__func__, [&](const char* function) {
    return blocks().allocate(function, Owner::device, devPtr, size);
  });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return guarded_runtime(__func__, [&](const char* function) {
    return blocks().allocate(function, Owner::device, devPtr, size);
  });
}

aclError aclrtFree(void* devPtr) {
  return guarded_runtime(__func__, [&](const char* function) {
    return blocks().release(function, Owner::device, devPtr);
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return guarded_runtime(__func__, [&](const char* function) {
    return blocks().allocate(function, Owner::host, hostPtr, size);
  });
}

aclError aclrtFreeHost(void* hostPtr) {
  return guarded_runtime(__func__, [&](const char* function) {
    return blocks().release(function, Owner::host, hostPtr);
  });
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return guarded_runtime(__func__, [&](const char* function) {
    return copy(function, dst, destMax, src, count, number_of(kind));
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return guarded_runtime(__func__, [&](const char* function) {
    const int code = check_stream(function, stream);
    return code != ACL_SUCCESS ? code : copy(function, dst, destMax, src, count, number_of(kind));
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return guarded_runtime(__func__, [&](const char* function) {
    return fill(function, devPtr, maxCount, value, count);
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  return guarded_runtime(__func__, [&](const char* function) {
    const int code = check_stream(function, stream);
    return code != ACL_SUCCESS ? code : fill(function, devPtr, maxCount, value, count);
  });
}
