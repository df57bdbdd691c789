// As aclnnQuantMatmulV4, and in groups along k and of small floats:
//
//   INT4 in groups   total = sum over groups j of (acc_j - r_j * x2Offset[j, n]) * x2Scale[j, n]
//                    out   = total * x1Scale[m];  r_j is the sum of x1 in j
//   INT8 by INT4     total = sum over groups j of (sum of (x1 - 8) * x2) * x2Scale[j, n]
//                    out   = (total + yOffset[n]) * x1Scale[m]
//   FLOAT8           out   = (sum + bias[n]) * x2Scale[n] * x1Scale[m]
//   MX               out   = sum of blocks of 32 k, each times its two powers of two, + bias[n]
//
// x1, x2     those of V4; INT8 by INT4, or INT32 of eight; FLOAT8_E4M3FN, FLOAT8_E5M2 or HIFLOAT8
//            both; in MX FLOAT4_E2M1, or the first two
// x1Scale    V4's pertokenScale, also (m, 1); in MX FLOAT8_E8M0 (..., m, ceil(k / 64), 2)
// x2Scale    V4's scale; in groups (k / g, n), FLOAT, or of INT8 by INT4 INT64 or UINT64; of FLOAT8
//            FLOAT, INT64 or UINT64; in MX FLOAT8_E8M0 (..., ceil(k / 64), n, 2)
// yScale     NULL; x1Offset is NULL, too
// x2Offset   V4's offset; in groups of INT4 FLOAT16 (k / g, n)
// yOffset    of INT8 by INT4 FLOAT (n), else NULL
// bias       V4's; of FLOAT8 and MX FLOAT; not in groups
// groupSize  g | gn << 16 | gm << 32, gm and gn 0 or 1; 0: what the shape of x2Scale says
// out        V4's; in groups FLOAT16 or BF16, of FLOAT8 and MX also FLOAT
#ifndef NPU_QUANT_ACLNNOP_ACLNN_QUANT_MATMUL_V5_H_
#define NPU_QUANT_ACLNNOP_ACLNN_QUANT_MATMUL_V5_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 anything else is invalid.
ACLNN_API aclnnStatus aclnnQuantMatmulV5GetWorkspaceSize(
    const aclTensor* x1, const aclTensor* x2, const aclTensor* x1Scale, const aclTensor* x2Scale,
    const aclTensor* yScale, const aclTensor* x1Offset, const aclTensor* x2Offset,
    const aclTensor* yOffset, const aclTensor* bias, bool transposeX1, bool transposeX2,
    int64_t groupSize, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnQuantMatmulV5(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_QUANT_MATMUL_V5_H_
