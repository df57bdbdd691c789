// Everything under acl/. C99 or C++11.
#ifndef NPU_QUANT_ACL_ACL_H_
#define NPU_QUANT_ACL_ACL_H_

#include "acl_rt.h"

#endif  // NPU_QUANT_ACL_ACL_H_
