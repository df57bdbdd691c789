// Work without the GIL, which Ctrl-C ends.
#pragma once

#include <unistd.h>

#include <exception>

#include "core/parallel.h"
#include "python/errors.h"

namespace npu_quant::python {

// Lets Python handle the signals that have come, which it does on its main thread; whether a
// handler raised an exception, which is then the current one. For a thread without the GIL.
bool handler_raised();

// Runs without the GIL where that is worth a switch; small work keeps it.
template <class Run>
Status run_released(int64_t bytes, Run run) {
  constexpr int64_t kWorthReleasing = 64 << 10;
  if (bytes < kWorthReleasing) return run();
  Status status;
  std::exception_ptr fault;
  const StopWhen stop(&handler_raised);
  PyThreadState* const thread = PyEval_SaveThread();
  try {
    status = run();
  } catch (const std::exception&) {
    fault = std::current_exception();
  }
  try {
    PyEval_RestoreThread(thread);
  } catch (...) {
    // No exception: the interpreter is gone. Before Python 3.14 it ends daemon threads by unwinding
    // them, which our callers' noexcept would turn into an abort: wait for the process to end
    // instead, as 3.14 does.
    for (;;) pause();
  }
  if (stop.stopped()) throw py::error_already_set();
  if (fault) std::rethrow_exception(fault);
  return status;
}

}  // namespace npu_quant::python
