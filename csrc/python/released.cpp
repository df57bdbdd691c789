#include "python/released.h"

#include <sys/syscall.h>

namespace npu_quant::python {

bool handler_raised() {
  if (syscall(SYS_gettid) != getpid()) return false;
  const PyGILState_STATE before = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(before);
  return raised;
}

}  // namespace npu_quant::python
