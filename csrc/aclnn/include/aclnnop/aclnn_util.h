// What every operator's header needs. C++11.
#ifndef NPU_QUANT_ACLNNOP_ACLNN_UTIL_H_
#define NPU_QUANT_ACLNNOP_ACLNN_UTIL_H_

#ifndef ACLNN_API
#define ACLNN_API __attribute__((visibility("default")))
#endif

#endif  // NPU_QUANT_ACLNNOP_ACLNN_UTIL_H_
