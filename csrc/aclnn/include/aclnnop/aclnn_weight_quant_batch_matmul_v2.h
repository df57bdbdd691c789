// Multiplies values by a weight of codes, which become values on the way:
//
//   w[k, n] = (weight[k, n] + antiquantOffset[j, n]) * antiquantScale[j, n], in x's type
//   y       = x @ w + bias, or (x @ w + bias) * quantScale + quantOffset in INT8
//
// with j = k / antiquantGroupSize, or one row of scales.
//
// x                FLOAT16 or BF16, shape (M, K)
// weight           INT8, INT4 or FLOAT4_E2M1, shape (K, N); INT32 with 8 INT4 in each, (K, N / 8)
// or
//                  (K / 8, N); FLOAT with 8 FLOAT4_E2M1 in each, (K, N / 8)
// antiquantScale   x's type, shape (1), (N), (1, 1), (1, N) or, of groups, (ceil(K / size), N); for
//                  FLOAT4_E2M1 FLOAT8_E8M0 or UINT8
// antiquantOffset  of antiquantScale's type and shape; NULL: 0
// quantScale       FLOAT, or INT64 or UINT64 of aclnnTransQuantParam, shape (1), (N), (1, 1) or
//                  (1, N); NULL: y is not quantized
// quantOffset      FLOAT, such a shape; NULL: that of quantScale
// bias             x's type or FLOAT, shape (N); NULL: 0
// antiquantGroupSize  0: no groups; else a multiple of 32 below K, for FLOAT4_E2M1 32
// y                of x's type, or INT8 where there is a quantScale, shape (M, N)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_WEIGHT_QUANT_BATCH_MATMUL_V2_H_
#define NPU_QUANT_ACLNNOP_ACLNN_WEIGHT_QUANT_BATCH_MATMUL_V2_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 anything else is invalid.
ACLNN_API aclnnStatus aclnnWeightQuantBatchMatmulV2GetWorkspaceSize(
    const aclTensor* x, const aclTensor* weight, const aclTensor* antiquantScale,
    const aclTensor* antiquantOffsetOptional, const aclTensor* quantScaleOptional,
    const aclTensor* quantOffsetOptional, const aclTensor* biasOptional, int antiquantGroupSize,
    const aclTensor* y, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnWeightQuantBatchMatmulV2(void* workspace, uint64_t workspaceSize,
                                                    aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_WEIGHT_QUANT_BATCH_MATMUL_V2_H_
