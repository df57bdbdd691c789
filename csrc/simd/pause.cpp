#include "core/pause.h"

namespace npu_quant {

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // yield does nothing on most
#endif
}

}  // namespace npu_quant
