// What the functions of the runtime share.
#pragma once

#include "acl/acl_rt.h"
#include "aclnn/src/report.h"

namespace npu_quant::aclnn {

// Runs what an acl or aclrt function does, which gets its name for messages.
template <class Run>
int guarded_runtime(const char* function, Run run) noexcept {
  return guarded(function, ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_INTERNAL_ERROR,
                 [&] { return run(function); });
}

int report_null(const char* function, const char* argument);

// NULL is the default stream; any other has to be alive.
bool is_stream(aclrtStream stream);
int check_stream(const char* function, aclrtStream stream);

}  // namespace npu_quant::aclnn
