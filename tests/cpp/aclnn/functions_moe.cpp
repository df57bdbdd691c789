// The functions that send rows to experts and bring them back.
#include "aclnnop/aclnn_moe_finalize_routing.h"
#include "aclnnop/aclnn_moe_finalize_routing_v2.h"
#include "aclnnop/aclnn_moe_init_routing_v3.h"
#include "aclnnop/aclnn_moe_token_permute.h"
#include "aclnnop/aclnn_moe_token_unpermute.h"
#include "phases.h"

namespace npu_quant::testing {
namespace {

const char* const kNoArray = nullptr;
constexpr aclnnStatus kTiling = 561002;

// Each token to two of three experts: expert 0 has both.
std::vector<Function> init_routing() {
  return {
      {"aclnnMoeInitRouting",
       3,
       of(aclnnMoeInitRoutingV3GetWorkspaceSize),
       aclnnMoeInitRoutingV3,
       {{"x", {ACL_FLOAT16, {2, 2}, {4, -2, 8, 6}}},
        {"expertIdx", {ACL_INT32, {2, 2}, {1, 0, 0, 2}}},
        {"scaleOptional", {ACL_FLOAT, {2}, {0.5f, 2}}, kOptional},
        {"offsetOptional", kNull, kOptional},
        {"activeNum", 0},
        {"expertCapacity", 0},
        {"expertNum", 3},
        {"dropPadMode", 0},
        {"expertTokensNumType", 1},
        {"expertTokensNumFlag", true},
        {"quantMode", -1},
        {"activeExpertRangeOptional", kNoArray},
        {"rowIdxType", 0},
        {"expandedXOut", {ACL_FLOAT16, {4, 2}, {4, -2, 8, 6, 4, -2, 8, 6}}},
        {"expandedRowIdxOut", {ACL_INT32, {4}, {2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0}}},
        {"expertTokensCountOrCumsumOut", {ACL_INT64, {3}, {2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                                                           0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}}},
        {"expandedScaleOut", {ACL_FLOAT, {4}, {0.5f, 2, 0.5f, 2}}}},
       kTiling,
       kTiling}};
}

std::vector<Function> token() {
  return {
      {"aclnnMoeTokenPermute",
       1,
       of(aclnnMoeTokenPermuteGetWorkspaceSize),
       aclnnMoeTokenPermute,
       {{"tokens", {ACL_BF16, {2, 1}, {1, 2}}},
        {"indices", {ACL_INT64, {2, 2}, {1, 0, 0, 2}}},
        {"numOutTokens", 3},
        {"paddedMode", false},
        {"permuteTokensOut", {ACL_BF16, {3, 1}, {1, 2, 1}}},
        {"sortedIndicesOut", {ACL_INT32, {4}, {2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0}}}}},
      {"aclnnMoeTokenUnpermute",
       1,
       of(aclnnMoeTokenUnpermuteGetWorkspaceSize),
       aclnnMoeTokenUnpermute,
       {{"permutedTokens", {ACL_FLOAT16, {3, 2}, {1, 2, 3, 4, 5, 6}}},
        {"sortedIndices", {ACL_INT32, {2}, {2, 0}}},
        {"probsOptional", {ACL_FLOAT, {2, 1}, {0.5f, 2}}, kOptional},
        {"paddedMode", false},
        {"restoreShapeOptional", kNoArray},
        {"out", {ACL_FLOAT16, {2, 2}, {2.5f, 3, 2, 4}}}},
       kTiling,
       kTiling}};
}

// Token 0 has rows 0 and 3, token 1 rows 2 and 1.
Function finalize() {
  const Given skip{ACL_FLOAT16, {2, 2}, {10, 20, 30, 40}};
  return {"aclnnMoeFinalizeRouting",
          1,
          of(aclnnMoeFinalizeRoutingGetWorkspaceSize),
          aclnnMoeFinalizeRouting,
          {{"expandedX", {ACL_FLOAT16, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}},
           {"x1", skip},
           {"x2Optional", skip, kOptional},
           {"bias", {ACL_FLOAT16, {2, 2}, {0.5f, 0, 0, 1}}},
           {"scales", {ACL_FLOAT16, {2, 2}, {1, 0.5f, 2, 1}}},
           {"expandedRowIdx", {ACL_INT32, {4}, {0, 2, 3, 1}}},
           {"expandedExpertIdx", {ACL_INT32, {2, 2}, {0, 1, 1, 1}}},
           {"out", {ACL_FLOAT16, {2, 2}, {25, 46.5f, 73, 99}}}}};
}

// One row each, so that K is 1 with and without scales.
Function finalize_v2() {
  const Given skip{ACL_FLOAT16, {2, 2}, {10, 20, 30, 40}};
  return {"aclnnMoeFinalizeRoutingV2",
          1,
          of(aclnnMoeFinalizeRoutingV2GetWorkspaceSize),
          aclnnMoeFinalizeRoutingV2,
          {{"expandedX", {ACL_FLOAT16, {2, 2}, {1, 2, 3, 4}}},
           {"expandedRowIdx", {ACL_INT32, {2}, {1, 0}}},
           {"x1Optional", skip, kOptional},
           {"x2Optional", skip, kOptional},
           {"biasOptional", kNull, kOptional},
           {"scalesOptional", {ACL_FLOAT16, {2, 1}, {0.5f, 2}}, kOptional},
           {"expertIdxOptional", {ACL_INT32, {2, 1}, {0, 1}}, kOptional},
           {"dropPadMode", 0},
           {"out", {ACL_FLOAT16, {2, 2}, {21.5f, 42, 62, 84}}}},
          kTiling,
          kTiling};
}

}  // namespace

std::vector<Function> rows_of_experts() {
  std::vector<Function> all = init_routing();
  for (const Function& function : token()) all.push_back(function);
  all.push_back(finalize());
  all.push_back(finalize_v2());
  return all;
}

}  // namespace npu_quant::testing
