// aclnnGroupedMatmulV4, V5: results by hand of every form, and what their first phase refuses.
#include "aclnnop/aclnn_grouped_matmul_v4.h"
#include "aclnnop/aclnn_grouped_matmul_v5.h"
#include "phases.h"
#include "refusals.h"
#include "values.h"

namespace npu_quant::testing {
namespace {

const char kGrouped[] = "aclnnGroupedMatmul";
const char* const kNoTuningOfGroups = nullptr;

}  // namespace

// [1, 2] and [-3, 4] by one weight: 21 12 and 17 54.
std::vector<Function> grouped_products() {
  const Parameters inputs{{"x[0]", {ACL_FLOAT16, {2, 2}, {1, 2, -3, 4}}},
                          {"weight[0]", {ACL_FLOAT16, {2, 2}, {5, -6, 8, 9}}},
                          {"biasOptional[0]", {ACL_FLOAT16, {2}, {0.5f, 1}}, kOptional},
                          {"scaleOptional[0]", kNull, kOptional},
                          {"offsetOptional", kNull, kOptional},
                          {"antiquantScaleOptional[0]", kNull, kOptional},
                          {"antiquantOffsetOptional[0]", kNull, kOptional},
                          {"perTokenScaleOptional[0]", kNull, kOptional},
                          {"groupListOptional", kNull, kOptional},
                          {"activationInputOptional", kNull, kOptional},
                          {"activationQuantScaleOptional", kNull, kOptional},
                          {"activationQuantOffsetOptional", kNull, kOptional},
                          {"splitItem", 0},
                          {"groupType", -1},
                          {"groupListType", 0},
                          {"actType", 0}};
  const Parameters results{{"out[0]", {ACL_FLOAT16, {2, 2}, {21.5f, 13, 17.5f, 55}}},
                           {"activationFeatureOutOptional", kNull, kOptional},
                           {"dynQuantScaleOutOptional", kNull, kOptional}};
  return {{kGrouped, 4, of(aclnnGroupedMatmulV4GetWorkspaceSize), aclnnGroupedMatmulV4,
           inputs + results},
          {kGrouped, 5, of(aclnnGroupedMatmulV5GetWorkspaceSize), aclnnGroupedMatmulV5,
           inputs + Parameters{{"tuningConfigOptional", kNoTuningOfGroups}} + results}};
}

namespace {

// Two groups of rows: the sums are 21 12, 17 54 and 23 34.
const Parameters kGroupsOfRows{{"x[0]", {ACL_INT8, {3, 2}, {1, 2, -3, 4, 5, 6}}},
                               {"weight[0]", {ACL_INT8, {2, 2, 2}, {5, -6, 8, 9, 1, 2, 3, 4}}},
                               {"biasOptional[0]", kNull},
                               {"groupListOptional", {ACL_INT64, {2}, {2, 3}}},
                               {"splitItem", 3},
                               {"groupType", 0}};
const Parameters kGroupedSums =
    with(kGroupsOfRows, {{"out[0]", {ACL_INT32, {3, 2}, {21, 0, 0, 0, 12, 0, 0, 0, 17, 0, 0, 0,
                                                         54, 0, 0, 0, 23, 0, 0, 0, 34, 0, 0, 0}}}});
const Parameters kGroupedTokens =
    with(kGroupsOfRows, {{"biasOptional[0]", {ACL_INT32, {2, 2}, {1, 0, 0, 2}}},
                         {"scaleOptional[0]", {ACL_FLOAT, {2, 2}, {1, 0.5f, 2, 1}}},
                         {"perTokenScaleOptional[0]", {ACL_FLOAT, {3}, {1, 0.5f, -2}}},
                         {"groupListOptional", {ACL_INT64, {2}, {2, 1}}},
                         {"groupListType", 1},
                         {"out[0]", {ACL_FLOAT16, {3, 2}, {22, 6, 9, 13.5f, -92, -72}}}});
// Words with other bits above those of 4.
const float kWordOfFour = 0x140800000p0f;
const Parameters kGroupedCodes = with(
    kGroupsOfRows, {{"scaleOptional[0]",
                     {ACL_UINT64, {2, 2}, {kWordOfFour, kWordOfFour, kWordOfFour, kWordOfFour}}},
                    {"out[0]", {ACL_INT8, {3, 2}, {84, 48, 68, 127, 92, 127}}}});
// Codes 5 -6 and 7 3.
const Given kInt4Weight{ACL_INT4, {2, 2}, {0xa5, 0x37}};
// By codes and 1: 1 and 0 are added, and factors are 1/2 and 2.
const Parameters kGroupedAntiquant{{"weight[0]", {ACL_INT8, {2, 2}, {5, -6, 8, 9}}},
                                   {"antiquantScaleOptional[0]", {ACL_FLOAT16, {2}, {0.5f, 2}}},
                                   {"antiquantOffsetOptional[0]", {ACL_FLOAT16, {2}, {1, 0}}},
                                   {"out[0]", {ACL_FLOAT16, {2, 2}, {12.5f, 25, 9.5f, 109}}}};
// x - 8 is 1 and 2: 19 0, by 2 and 1.
const Parameters kGroupedInt4{{"x[0]", {ACL_INT8, {1, 2}, {9, 10}}},
                              {"weight[0]", kInt4Weight},
                              {"biasOptional[0]", {ACL_FLOAT, {2}, {1, 4}}},
                              {"scaleOptional[0]", {ACL_FLOAT, {1, 2}, {2, 1}}},
                              {"perTokenScaleOptional[0]", {ACL_FLOAT, {1}, {2}}},
                              {"out[0]", {ACL_FLOAT16, {1, 2}, {78, 8}}}};
// 1 2 by 1 2 and 4 1 is 9 4, by 2 and 1 and 1/2.
const Parameters kGroupedMx{{"x[0]", {ACL_FLOAT8_E4M3FN, {1, 2}, {0x38, 0x40}}},
                            {"weight[0]", {ACL_FLOAT8_E4M3FN, {2, 2}, {0x38, 0x40, 0x48, 0x38}}},
                            {"biasOptional[0]", {ACL_FLOAT, {2}, {1, 1}}},
                            {"scaleOptional[0]", {ACL_FLOAT8_E8M0, {1, 2, 2}, {128, 0, 127, 0}}},
                            {"perTokenScaleOptional[0]", {ACL_FLOAT8_E8M0, {1, 1, 2}, {126, 0}}},
                            {"out[0]", {ACL_FLOAT, {1, 2}, {10, 3}}}};

const Vector kGroupedVectors[] = {
    {kGrouped, kGroupedSums},
    {kGrouped, with(kGroupedSums, {{"splitItem", 2}})},
    {kGrouped, kGroupedTokens},
    {kGrouped, with(kGroupedTokens,
                    {{"actType", 1}, {"out[0]", {ACL_BF16, {3, 2}, {22, 6, 9, 13.5f, 0, 0}}}})},
    {kGrouped,
     with(kGroupedTokens, {{"biasOptional[0]", {ACL_BF16, {2, 2}, {1, 0, 0, 2}}},
                           {"scaleOptional[0]", {ACL_BF16, {2, 2}, {1, 0.5f, 2, 1}}},
                           {"out[0]", {ACL_BF16, {3, 2}, {22, 6, 9.5f, 13.5f, -92, -66}}}})},
    {kGrouped, kGroupedCodes},
    // Each with the number of its weight, and none for the last row.
    {kGrouped,
     with(kGroupedSums, {{"groupListOptional", {ACL_INT64, {2, 2}, {1, 1, 0, 1}}},
                         {"groupListType", 2},
                         {"out[0]", {ACL_INT32, {3, 2}, {7, 0, 0, 0, 10, 0, 0, 0, 17, 0, 0, 0, 54,
                                                         0, 0, 0, 0, 0,  0, 0, 0, 0,  0, 0}}}})},
    // Groups of columns of x, 2 and 1 of them.
    {kGrouped,
     {{"x[0]", {ACL_BF16, {2, 3}, {1, 2, 3, 4, 5, 6}}},
      {"weight[0]", {ACL_BF16, {3, 2}, {1, 0, 0, 1, 2, 2}}},
      {"biasOptional[0]", kNull},
      {"groupListOptional", {ACL_INT64, {2}, {2, 3}}},
      {"splitItem", 3},
      {"groupType", 2},
      {"out[0]", {ACL_BF16, {2, 2, 2}, {1, 2, 4, 5, 6, 6, 12, 12}}}}},
    {kGrouped, kGroupedAntiquant},
    {kGrouped, with(kGroupedAntiquant, {{"weight[0]", kInt4Weight},
                                        {"out[0]", {ACL_FLOAT16, {2, 2}, {11.5f, 1, 7.5f, 61}}}})},
    {kGrouped, kGroupedInt4},
    {kGrouped, with(kGroupedInt4,
                    {{"scaleOptional[0]", {ACL_UINT64, {1, 2}, {0x40000000p0f, 0x13f800000p0f}}}})},
    // 1 -2 by the codes is -9 -12.
    {kGrouped, with(kGroupedInt4, {{"x[0]", {ACL_INT4, {1, 2}, {0xe1}}},
                                   {"biasOptional[0]", kNull},
                                   {"out[0]", {ACL_FLOAT16, {1, 2}, {-36, -24}}}})},
    {kGrouped, kGroupedMx},
    {kGrouped, with(kGroupedMx, {{"x[0]", {ACL_FLOAT4_E2M1, {1, 2}, {0x42}}},
                                 {"weight[0]", {ACL_FLOAT4_E2M1, {2, 2}, {0x42, 0x26}}}})},
};

const Refusal kGroupedRefusals[] = {
    {kGrouped, {{"x[0]", {ACL_DOUBLE, {2, 2}}}}, "x[0] has dtype ACL_DOUBLE"},
    {kGrouped, {{"x[0]", {ACL_FLOAT16, {2}}}}, "x[0] has 1 dimension"},
    {kGrouped, {{"weight[0]", {ACL_FLOAT, {2, 2}}}}, "weight[0] has dtype ACL_FLOAT"},
    {kGrouped, {{"weight[0]", {ACL_FLOAT16, {3, 2}}}}, "weight[0] has shape (3, 2)"},
    {kGrouped, {{"biasOptional[0]", {ACL_FLOAT, {2}}}}, "biasOptional[0] has dtype ACL_FLOAT"},
    {kGrouped, {{"biasOptional[0]", {ACL_FLOAT16, {3}}}}, "biasOptional[0] has shape (3,)"},
    {kGrouped, {{"scaleOptional[0]", {ACL_FLOAT, {2}}}}, "scaleOptional[0] is given"},
    {kGrouped, {{"offsetOptional", {ACL_FLOAT, {2}}}}, "offsetOptional is given, expected NULL"},
    {kGrouped,
     {{"antiquantScaleOptional[0]", {ACL_FLOAT16, {2}}}},
     "antiquantScaleOptional[0] is given"},
    {kGrouped, with(kGroupedAntiquant, {{"antiquantScaleOptional[0]", {ACL_BF16, {2}}}}),
     "antiquantScaleOptional[0] has dtype ACL_BF16"},
    {kGrouped, with(kGroupedAntiquant, {{"antiquantOffsetOptional[0]", {ACL_FLOAT16, {1}}}}),
     "antiquantOffsetOptional[0] has shape (1,)"},
    {kGrouped, with(kGroupedTokens, {{"scaleOptional[0]", kNull}}), "scaleOptional[0] is NULL"},
    {kGrouped, with(kGroupedTokens, {{"scaleOptional[0]", {ACL_UINT64, {2, 2}}}}),
     "scaleOptional[0] has dtype"},
    {kGrouped, with(kGroupedTokens, {{"perTokenScaleOptional[0]", {ACL_FLOAT, {2}}}}),
     "perTokenScaleOptional[0] has shape (2,)"},
    {kGrouped, with(kGroupedTokens, {{"groupListOptional", kNull}}), "groupListOptional is NULL"},
    {kGrouped, with(kGroupedTokens, {{"groupListOptional", {ACL_INT32, {2}}}}),
     "groupListOptional has dtype ACL_INT32"},
    {kGrouped, with(kGroupedTokens, {{"groupListOptional", {ACL_INT64, {3}}}}),
     "groupListOptional has shape (3,)"},
    {kGrouped, with(kGroupedTokens, {{"groupType", 1}}), "groupType is 1"},
    {kGrouped, with(kGroupedTokens, {{"groupListType", 3}}), "groupListType is 3"},
    {kGrouped, with(kGroupedTokens, {{"actType", 2}}), "actType is 2, available: 0"},
    {kGrouped,
     with(kGroupedTokens,
          {{"x[0]", {ACL_FLOAT8_E4M3FN, {3, 2}}}, {"weight[0]", {ACL_FLOAT8_E4M3FN, {2, 2, 2}}}}),
     "biasOptional[0] has dtype ACL_INT32"},
    {kGrouped, with(kGroupedInt4, {{"x[0]", {ACL_HIFLOAT8, {1, 2}}}}),
     "x[0] has dtype ACL_HIFLOAT8"},
    {kGrouped, {{"splitItem", 4}}, "splitItem is 4"},
    {kGrouped, {{"activationInputOptional", {ACL_FLOAT, {2}}}}, "activationInputOptional is given"},
    {kGrouped,
     {{"activationQuantScaleOptional", {ACL_FLOAT, {2}}}},
     "activationQuantScaleOptional is given"},
    {kGrouped,
     {{"activationQuantOffsetOptional", {ACL_FLOAT, {2}}}},
     "activationQuantOffsetOptional is given"},
    {kGrouped, {{"out[0]", {ACL_BF16, {2, 2}}}}, "the dtype of out is ACL_BF16"},
    {kGrouped, {{"out[0]", {ACL_FLOAT16, {2, 3}}}}, "out[0] has shape (2, 3)"},
    {kGrouped, with(kGroupedSums, {{"out[0]", {ACL_FLOAT, {3, 2}}}}),
     "the dtype of out is ACL_FLOAT"},
    {kGrouped,
     {{"activationFeatureOutOptional", {ACL_FLOAT, {2}}}},
     "activationFeatureOutOptional is given"},
    {kGrouped,
     {{"dynQuantScaleOutOptional", {ACL_FLOAT, {2}}}},
     "dynQuantScaleOutOptional is given"},
};

TEST_F(Values, OfGroupedProducts) { expect_values(stream, kGroupedVectors); }
TEST_F(Refusals, OfGroupedProducts) { expect_refusals(kGroupedRefusals); }

}  // namespace
}  // namespace npu_quant::testing
