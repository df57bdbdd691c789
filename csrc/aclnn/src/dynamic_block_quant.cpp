// aclnnDynamicBlockQuant, V2: npu_dynamic_block_quant.
#include "ops/dynamic_block_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_dynamic_block_quant.h"
#include "aclnnop/aclnn_dynamic_block_quant_v2.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kBlockNames = {{"round_mode", "roundModeOptional"}};

constexpr Function block_function(const char* name) {
  return {.name = name,
          .other_names = kBlockNames,
          .codes = kCodesOfBytes,
          .attribute_code = ACLNN_ERR_INNER_TILING_ERROR};
}
constexpr Function kBlockQuant = block_function("aclnnDynamicBlockQuant");
constexpr Function kBlockQuantV2 = block_function("aclnnDynamicBlockQuantV2");

struct BlockAttributes {
  double min_scale;
  const char* round_mode;  // NULL: the default
  int64_t dst_type, row_block_size, col_block_size;
  double dst_type_max;
};

aclnnStatus plan_version(const Function& function, const aclTensor* x, const BlockAttributes& with,
                         const aclTensor* y, const aclTensor* scale, uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan<Call<DynamicBlockQuant>>(function, workspace_size, executor, [&](auto& call) {
    DynamicBlockQuant& op = call.op;
    call.input("x", x, op.x);
    op.min_scale = with.min_scale;
    if (with.round_mode != nullptr) op.round_mode = with.round_mode;
    op.row_block_size = with.row_block_size;
    op.col_block_size = with.col_block_size;
    op.dst_type_max = with.dst_type_max;
    call.output("yOut", y, call.outputs[op.kY]);
    op.dst_type = call.codes_of(call.outputs[op.kY], with.dst_type);
    call.output("scaleOut", scale, call.outputs[op.kScale]);
  });
}

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant::aclnn;

aclnnStatus aclnnDynamicBlockQuantGetWorkspaceSize(const aclTensor* x, double minScale,
                                                   char* roundModeOptional, int64_t dstType,
                                                   int64_t rowBlockSize, int64_t colBlockSize,
                                                   const aclTensor* yOut, const aclTensor* scaleOut,
                                                   uint64_t* workspaceSize,
                                                   aclOpExecutor** executor) {
  return plan_version(kBlockQuant, x,
                      {.min_scale = minScale,
                       .round_mode = roundModeOptional,
                       .dst_type = dstType,
                       .row_block_size = rowBlockSize,
                       .col_block_size = colBlockSize,
                       .dst_type_max = 0},
                      yOut, scaleOut, workspaceSize, executor);
}

aclnnStatus aclnnDynamicBlockQuantV2GetWorkspaceSize(
    const aclTensor* x, double minScale, char* roundModeOptional, int64_t dstType,
    int64_t rowBlockSize, int64_t colBlockSize, double dstTypeMax, const aclTensor* yOut,
    const aclTensor* scaleOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_version(kBlockQuantV2, x,
                      {.min_scale = minScale,
                       .round_mode = roundModeOptional,
                       .dst_type = dstType,
                       .row_block_size = rowBlockSize,
                       .col_block_size = colBlockSize,
                       .dst_type_max = dstTypeMax},
                      yOut, scaleOut, workspaceSize, executor);
}

NPU_QUANT_SECOND_PHASE(aclnnDynamicBlockQuant, kBlockQuant)
NPU_QUANT_SECOND_PHASE(aclnnDynamicBlockQuantV2, kBlockQuantV2)
