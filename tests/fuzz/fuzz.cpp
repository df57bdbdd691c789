// libFuzzer's way in: `make fuzz`.
#include "acl/acl.h"
#include "operators.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return aclInit(nullptr) + aclrtSetDevice(0); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  npu_quant::fuzzing::call_an_operator(data, size);
  return 0;
}
