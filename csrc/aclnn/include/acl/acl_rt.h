// Start and end, the device, contexts, streams and memory. C99 or C++11.
//
// The device is this computer's CPU: its memory is host memory, and work is done when the call that
// starts it returns.
#ifndef NPU_QUANT_ACL_ACL_RT_H_
#define NPU_QUANT_ACL_ACL_RT_H_

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;

// aclrtMemcpy takes 0 to 5. The addresses decide, whatever direction is named.
typedef enum {
  ACL_MEMCPY_HOST_TO_HOST = 0,
  ACL_MEMCPY_HOST_TO_DEVICE = 1,
  ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
  ACL_MEMCPY_DEFAULT = 4,
  ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
  ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
  ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7
} aclrtMemcpyKind;

// Taken and ignored.
typedef enum {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
  ACL_MEM_MALLOC_HUGE_ONLY = 1,
  ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
  ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
  ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
  ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
  ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

// A file, or NULL. Once more before the end: 100002, which counts and may be ignored.
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

// Ends at once, however often aclInit was called; 100037 if there is nothing to end.
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

// Ends with the last reference, and says how many are left (refCount may be NULL).
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

// This thread's messages since the last call, newest first, or NULL. Valid until the next call.
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

// Takes the device, for the whole process; deviceId is 0.
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);

// Gives back one aclrtSetDevice. With the last one, streams and contexts end.
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);

// Gives back every aclrtSetDevice.
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);

// The device that is set; 107002 if none is set.
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);

// 1.
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);

// ACL_HOST.
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);

// Waits for all streams: work is done already.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);

// Makes a context, which becomes this thread's current one.
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);

// Ends a context of aclrtCreateContext.
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

// Makes a context this thread's current one.
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

// This thread's current context, or the device's own.
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);

// Makes a stream; 107002 before aclrtSetDevice.
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);

// The same: priority and flag are ignored.
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority,
                                                         uint32_t flag);

// Ends a stream.
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

// Waits for a stream; NULL is the default one.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

// The same, for at most that many milliseconds; -1 waits for ever, and less is an error.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

// A zeroed block, aligned to 64 bytes, with at least 32 bytes of padding at its end.
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

// The same.
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void** devPtr, size_t size,
                                                aclrtMemMallocPolicy policy);

// Frees a block of aclrtMalloc; 107000 for any other address.
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);

// A block for the host.
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);

// Frees a block of aclrtMallocHost; 107000 for any other address.
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);

// Copies count bytes; destMax is what dst holds.
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);

// The same, in the order of the stream.
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src,
                                              size_t count, aclrtMemcpyKind kind,
                                              aclrtStream stream);

// Sets count bytes to a value; maxCount is what devPtr holds.
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value,
                                         size_t count);

// The same, in the order of the stream.
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value,
                                              size_t count, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // NPU_QUANT_ACL_ACL_RT_H_
