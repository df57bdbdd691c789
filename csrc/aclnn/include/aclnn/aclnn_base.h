// Start and end of the operators. C++11.
#ifndef NPU_QUANT_ACLNN_ACLNN_BASE_H_
#define NPU_QUANT_ACLNN_ACLNN_BASE_H_

#include "acl_meta.h"

extern "C" {

// Not needed after aclInit. Both may be called, also more than once.
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);

// Not needed before aclFinalize.
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

}  // extern "C"

#endif  // NPU_QUANT_ACLNN_ACLNN_BASE_H_
