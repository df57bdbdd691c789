// What goes wrong is told to the caller by a code, and to its thread by a message.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "acl/acl_base.h"
#include "opdev/op_errno.h"

namespace npu_quant::aclnn {

// Keeps "function: reason" for aclGetRecentErrMsg, framed as `code` is, and returns the code. Where
// there is no memory for a message the code has to do.
int report(int code, const char* function, std::string_view reason) noexcept;

// Runs what a function of the API does: no exception leaves it.
template <class Run>
int guarded(const char* function, int out_of_memory_code, int other_code, Run run) noexcept {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return report(out_of_memory_code, function, "out of memory.");
  } catch (const std::exception& fault) {
    return report(other_code, function, fault.what());
  } catch (...) {
    return report(other_code, function, "an unknown exception.");
  }
}

}  // namespace npu_quant::aclnn
