// A product of codes, scaled and rounded: of row m, column n and k, which is added up,
//
//   acc = sum of x1[m, k] * x2[k, n], plus an INT32 bias[n]      exact; INT32, which wraps
//   v   = acc * scale[n] * pertokenScale[m] + a float bias[n]
//   out = v, rounded;    INT8: v + offset[n], rounded;    INT32: acc
//
// x1             INT8 (..., m, k); INT4, or INT32 of eight INT4, (..., m, k / 8)
// x2             of the same dtype, (..., k, n); INT32 (..., k, n / 8) or (..., k / 8, n)
// scale          FLOAT, BF16, or INT64 or UINT64 of aclnnTransQuantParamV3: (n) or (1)
// offset         FLOAT (n) or (1), for an INT8 out alone; NULL: 0, or what such a scale holds
// pertokenScale  FLOAT (m), for a float out alone; NULL: 1
// bias           INT32, FLOAT, FLOAT16 or BF16, (n) or (batch, 1, n); NULL: 0
// transposeX1    whether x1 comes as (..., k, m)
// transposeX2    whether x2 comes as (..., n, k)
// out            INT8, FLOAT16, BF16 or INT32, (..., m, n); leading axes broadcast
#ifndef NPU_QUANT_ACLNNOP_ACLNN_QUANT_MATMUL_V4_H_
#define NPU_QUANT_ACLNNOP_ACLNN_QUANT_MATMUL_V4_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 anything else is invalid.
ACLNN_API aclnnStatus aclnnQuantMatmulV4GetWorkspaceSize(
    const aclTensor* x1, const aclTensor* x2, const aclTensor* scale, const aclTensor* offset,
    const aclTensor* pertokenScaleOptional, const aclTensor* bias, bool transposeX1,
    bool transposeX2, const aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnQuantMatmulV4(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_QUANT_MATMUL_V4_H_
