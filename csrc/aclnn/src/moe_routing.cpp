// aclnnMoeInitRoutingV3: npu_moe_init_routing_v2. aclnnMoeTokenPermute, Unpermute:
// npu_moe_token_permute, _unpermute. aclnnMoeFinalizeRouting, V2: npu_moe_finalize_routing.
#include "aclnn/src/arrays.h"
#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_moe_finalize_routing.h"
#include "aclnnop/aclnn_moe_finalize_routing_v2.h"
#include "aclnnop/aclnn_moe_init_routing_v3.h"
#include "aclnnop/aclnn_moe_token_permute.h"
#include "aclnnop/aclnn_moe_token_unpermute.h"
#include "ops/moe_finalize_routing.h"
#include "ops/moe_init_routing_v2.h"
#include "ops/moe_token.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kMoeNames = {
    {"active_expert_range", "activeExpertRangeOptional"},
    {"restore_shape", "restoreShapeOptional"}};
// Of shapes and attributes all but two of them have the code of what is found while they are tiled.
constexpr Function moe_function(const char* name, int code = ACLNN_ERR_INNER_TILING_ERROR) {
  return {.name = name, .other_names = kMoeNames, .shape_code = code, .attribute_code = code};
}
constexpr Function kInitRouting = moe_function("aclnnMoeInitRoutingV3");
constexpr Function kPermute = moe_function("aclnnMoeTokenPermute", ACLNN_ERR_PARAM_INVALID);
constexpr Function kUnpermute = moe_function("aclnnMoeTokenUnpermute");
constexpr Function kFinalize = moe_function("aclnnMoeFinalizeRouting", ACLNN_ERR_PARAM_INVALID);
constexpr Function kFinalizeV2 = moe_function("aclnnMoeFinalizeRoutingV2");

void set_integers(Executor& call, const char* name, const std::optional<Integers>& came,
                  Integers& field) {
  if (!came)
    call.fail(Fault::missing, name, "is not a live array");
  else if (came->is_given())
    field = *came;
}

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnMoeInitRoutingV3GetWorkspaceSize(
    const aclTensor* x, const aclTensor* expertIdx, const aclTensor* scaleOptional,
    const aclTensor* offsetOptional, int64_t activeNum, int64_t expertCapacity, int64_t expertNum,
    int64_t dropPadMode, int64_t expertTokensNumType, bool expertTokensNumFlag, int64_t quantMode,
    const aclIntArray* activeExpertRangeOptional, int64_t rowIdxType, const aclTensor* expandedXOut,
    const aclTensor* expandedRowIdxOut, const aclTensor* expertTokensCountOrCumsumOut,
    const aclTensor* expandedScaleOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  const std::optional<Integers> range = integers_in(activeExpertRangeOptional);
  return plan<Call<MoeInitRoutingV2>>(kInitRouting, workspaceSize, executor, [&](auto& call) {
    MoeInitRoutingV2& op = call.op;
    call.input("x", x, op.x);
    call.input("expertIdx", expertIdx, op.expert_idx);
    call.optional_input("scaleOptional", scaleOptional, op.scale);
    call.optional_input("offsetOptional", offsetOptional, op.offset);
    op.active_num = activeNum;
    op.expert_capacity = expertCapacity;
    op.expert_num = expertNum;
    op.drop_pad_mode = dropPadMode;
    op.expert_tokens_num_type = expertTokensNumType;
    op.expert_tokens_num_flag = expertTokensNumFlag;
    op.quant_mode = quantMode;
    op.row_idx_type = rowIdxType;
    set_integers(call, "activeExpertRangeOptional", range, op.active_expert_range);
    call.output("expandedXOut", expandedXOut, call.outputs[MoeInitRoutingV2::kX]);
    call.output("expandedRowIdxOut", expandedRowIdxOut, call.outputs[MoeInitRoutingV2::kRowIdx]);
    call.output("expertTokensCountOrCumsumOut", expertTokensCountOrCumsumOut,
                call.outputs[MoeInitRoutingV2::kTokens]);
    call.output("expandedScaleOut", expandedScaleOut, call.outputs[MoeInitRoutingV2::kScale]);
  });
}

aclnnStatus aclnnMoeTokenPermuteGetWorkspaceSize(const aclTensor* tokens, const aclTensor* indices,
                                                 int64_t numOutTokens, bool paddedMode,
                                                 const aclTensor* permuteTokensOut,
                                                 const aclTensor* sortedIndicesOut,
                                                 uint64_t* workspaceSize,
                                                 aclOpExecutor** executor) {
  return plan<Call<MoeTokenPermute>>(kPermute, workspaceSize, executor, [&](auto& call) {
    call.input("tokens", tokens, call.op.tokens);
    call.input("indices", indices, call.op.indices);
    call.op.num_out_tokens = numOutTokens;
    call.op.padded_mode = paddedMode;
    call.output("permuteTokensOut", permuteTokensOut, call.outputs[MoeTokenPermute::kPermuted]);
    call.output("sortedIndicesOut", sortedIndicesOut, call.outputs[MoeTokenPermute::kIndices]);
  });
}

aclnnStatus aclnnMoeTokenUnpermuteGetWorkspaceSize(const aclTensor* permutedTokens,
                                                   const aclTensor* sortedIndices,
                                                   const aclTensor* probsOptional, bool paddedMode,
                                                   const aclIntArray* restoreShapeOptional,
                                                   aclTensor* out, uint64_t* workspaceSize,
                                                   aclOpExecutor** executor) {
  const std::optional<Integers> shape = integers_in(restoreShapeOptional);
  return plan<Call<MoeTokenUnpermute>>(kUnpermute, workspaceSize, executor, [&](auto& call) {
    call.input("permutedTokens", permutedTokens, call.op.permuted_tokens);
    call.input("sortedIndices", sortedIndices, call.op.sorted_indices);
    call.optional_input("probsOptional", probsOptional, call.op.probs);
    call.op.padded_mode = paddedMode;
    set_integers(call, "restoreShapeOptional", shape, call.op.restore_shape);
    call.output("out", out, call.outputs[MoeTokenUnpermute::kOut]);
  });
}

aclnnStatus aclnnMoeFinalizeRoutingGetWorkspaceSize(const aclTensor* expandedX, const aclTensor* x1,
                                                    const aclTensor* x2Optional,
                                                    const aclTensor* bias, const aclTensor* scales,
                                                    const aclTensor* expandedRowIdx,
                                                    const aclTensor* expandedExpertIdx,
                                                    const aclTensor* out, uint64_t* workspaceSize,
                                                    aclOpExecutor** executor) {
  return plan<Call<MoeFinalizeRouting>>(kFinalize, workspaceSize, executor, [&](auto& call) {
    call.input("expandedX", expandedX, call.op.expanded_permuted_rows);
    call.input("x1", x1, call.op.skip1);
    call.optional_input("x2Optional", x2Optional, call.op.skip2);
    call.input("bias", bias, call.op.bias);
    call.input("scales", scales, call.op.scales);
    call.input("expandedRowIdx", expandedRowIdx, call.op.expanded_src_to_dst_row);
    call.input("expandedExpertIdx", expandedExpertIdx, call.op.export_for_source_row);
    call.output("out", out, call.outputs[MoeFinalizeRouting::kOut]);
  });
}

aclnnStatus aclnnMoeFinalizeRoutingV2GetWorkspaceSize(
    const aclTensor* expandedX, const aclTensor* expandedRowIdx, const aclTensor* x1Optional,
    const aclTensor* x2Optional, const aclTensor* biasOptional, const aclTensor* scalesOptional,
    const aclTensor* expertIdxOptional, int64_t dropPadMode, const aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<Call<MoeFinalizeRouting>>(kFinalizeV2, workspaceSize, executor, [&](auto& call) {
    call.input("expandedX", expandedX, call.op.expanded_permuted_rows);
    call.input("expandedRowIdx", expandedRowIdx, call.op.expanded_src_to_dst_row);
    call.optional_input("x1Optional", x1Optional, call.op.skip1);
    call.optional_input("x2Optional", x2Optional, call.op.skip2);
    call.optional_input("biasOptional", biasOptional, call.op.bias);
    call.optional_input("scalesOptional", scalesOptional, call.op.scales);
    call.optional_input("expertIdxOptional", expertIdxOptional, call.op.export_for_source_row);
    call.op.drop_pad_mode = dropPadMode;
    call.output("out", out, call.outputs[MoeFinalizeRouting::kOut]);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnMoeInitRoutingV3, kInitRouting)
NPU_QUANT_SECOND_PHASE(aclnnMoeTokenPermute, kPermute)
NPU_QUANT_SECOND_PHASE(aclnnMoeTokenUnpermute, kUnpermute)
NPU_QUANT_SECOND_PHASE(aclnnMoeFinalizeRouting, kFinalize)
NPU_QUANT_SECOND_PHASE(aclnnMoeFinalizeRoutingV2, kFinalizeV2)
