// aclnnGroupedMatmulSwigluQuant, V2: results by hand, what each parameter does, and what its first
// phase refuses. From 17.33 on a / (1 + exp(-a)) is a.
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant.h"
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant_v2.h"
#include "phases.h"
#include "refusals.h"
#include "values.h"

namespace npu_quant::testing {
namespace {

const char kExperts[] = "aclnnGroupedMatmulSwigluQuant";
const char kExpertsV2[] = "aclnnGroupedMatmulSwigluQuantV2";
const char* const kNoTuning = nullptr;

}  // namespace

// The sums are 32 64 2 -1 and, of the second expert, 20 20 5 3; row 2 is behind it.
std::vector<Function> products_by_experts() {
  const Parameters results{{"output", {ACL_INT8, {3, 2}, {127, -127, 127, 76, 0, 0}}},
                           {"outputScale", {ACL_FLOAT, {3}, {64.f / 127, 400.f / 127, 0}}}};
  return {{kExperts, 1, of(aclnnGroupedMatmulSwigluQuantGetWorkspaceSize),
           aclnnGroupedMatmulSwigluQuant,
           Parameters{{"x", {ACL_INT8, {3, 1}, {1, -1, 9}}},
                      {"weight", {ACL_INT8, {2, 1, 4}, {32, 64, 2, -1, -20, -20, -5, -3}}},
                      {"bias", kNull, kOptional},
                      {"offset", kNull, kOptional},
                      {"weightScale", {ACL_FLOAT, {2, 4}, {1, 1, 1, 1, 1, 1, 1, 1}}},
                      {"xScale", {ACL_FLOAT, {3}, {1, 2, 1}}},
                      {"groupList", {ACL_INT64, {2}, {1, 2}}}} +
               results + Parameters{{"outputOffset", kNull, kOptional}}},
          {kExpertsV2, 1, of(aclnnGroupedMatmulSwigluQuantV2GetWorkspaceSize),
           aclnnGroupedMatmulSwigluQuantV2,
           Parameters{{"x", {ACL_INT8, {3, 1}, {1, -1, 9}}},
                      {"weight[0]", {ACL_INT8, {2, 1, 4}, {32, 64, 2, -1, -20, -20, -5, -3}}},
                      {"weightScale[0]", {ACL_FLOAT, {2, 4}, {1, 1, 1, 1, 1, 1, 1, 1}}},
                      {"weightAssistMatrix[0]", kNull, kOptional},
                      {"bias", kNull, kOptional},
                      {"xScale", {ACL_FLOAT, {3}, {1, 2, 1}}},
                      {"smoothScale", kNull, kOptional},
                      {"groupList", {ACL_INT64, {2}, {1, 1}}},
                      {"dequantMode", 0},
                      {"dequantDtype", 0},
                      {"quantMode", 0},
                      {"groupListType", 1},
                      {"tuningConfig", kNoTuning}} +
               results}};
}

namespace {

// x - 8 is 1 and -1: the first row of the weight less the second is 8 4 0 -8 and 1 2 0 15. Of the
// gates, four times that, bias makes 32.
const std::vector<float> kBias = {0, 16, 32, 64, 0, 0, 0, 0}, kScales = {4, 4, 4, 4, 1, 1, 1, 1},
                         kCodes = {0x47, 0x80, 0x21, 0x70, 0x0f, 0, 0, 0x80};
const Parameters kInt4{{"x", {ACL_INT8, {1, 2}, {9, 7}}},
                       {"weight", {ACL_INT4, {1, 2, 8}, kCodes}},
                       {"bias", {ACL_FLOAT, {1, 8}, kBias}},
                       {"weightScale", {ACL_FLOAT, {1, 8}, kScales}},
                       {"xScale", {ACL_FLOAT, {1}, {2}}},
                       {"groupList", {ACL_INT64, {1}, {1}}},
                       {"output", {ACL_INT8, {1, 4}, {8, 17, 0, 127}}},
                       {"outputScale", {ACL_FLOAT, {1}, {1920.f / 127}}}};
// Words with other bits above those of 4 and 1.
const float kFour = 0x140800000p0f, kOne = 0x13f800000p0f;

const Vector kExpertVectors[] = {
    {kExperts, kInt4},
    {kExperts,
     with(kInt4, {{"weightScale",
                   {ACL_UINT64, {1, 8}, {kFour, kFour, kFour, kFour, kOne, kOne, kOne, kOne}}}})},
    // By groups of one k the other sums are 2 4 0 22.
    {kExperts,
     with(kInt4, {{"weightScale",
                   {ACL_FLOAT, {1, 2, 8}, {4, 4, 4, 4, 2, 2, 2, 2, 4, 4, 4, 4, 1, 1, 1, 1}}},
                  {"output", {ACL_INT8, {1, 4}, {12, 23, 0, 127}}},
                  {"outputScale", {ACL_FLOAT, {1}, {2816.f / 127}}}})},
    // Of words along K the first nibbles count, 2 and 7.
    {kExperts,
     {{"x", {ACL_INT8, {1, 8}, {9, 8, 8, 8, 8, 8, 8, 8}}},
      {"weight", {ACL_INT32, {1, 1, 2}, {2, 7}}},
      {"bias", {ACL_FLOAT, {1, 2}, {30, 1}}},
      {"weightScale", {ACL_FLOAT, {1, 2}, {1, 1}}},
      {"xScale", {ACL_FLOAT, {1}, {1}}},
      {"groupList", {ACL_INT64, {1}, {1}}},
      {"output", {ACL_INT8, {1, 1}, {127}}},
      {"outputScale", {ACL_FLOAT, {1}, {256.f / 127}}}}},
};

const Refusal kExpertRefusals[] = {
    {kExperts, {{"x", {ACL_UINT8, {3, 1}}}}, "x has dtype ACL_UINT8"},
    {kExperts, {{"x", {ACL_INT8, {3}}}}, "x has 1 dimension"},
    {kExperts, {{"weight", {ACL_FLOAT16, {2, 1, 4}}}}, "weight has dtype ACL_FLOAT16"},
    {kExperts, {{"weight", {ACL_FLOAT4_E2M1, {2, 1, 4}}}}, "weight has dtype ACL_FLOAT4_E2M1"},
    {kExperts, {{"weight", {ACL_INT4, {2, 1, 4}}}}, "bias is NULL"},
    {kExperts, {{"weight", {ACL_INT8, {2, 2, 4}}}}, "weight has shape (2, 2, 4)"},
    {kExperts, {{"weight", {ACL_INT8, {2, 1, 3}}}}, "weight has shape (2, 1, 3)"},
    {kExperts, {{"bias", {ACL_FLOAT, {2, 4}}}}, "bias is given"},
    {kExperts, with(kInt4, {{"bias", {ACL_FLOAT, {1, 4}}}}), "bias has shape (1, 4)"},
    {kExperts, with(kInt4, {{"bias", {ACL_FLOAT16, {1, 8}}}}), "bias has dtype ACL_FLOAT16"},
    {kExperts, {{"offset", {ACL_FLOAT, {2, 4}}}}, "offset is given"},
    {kExperts, {{"weightScale", {ACL_UINT64, {2, 4}}}}, "weightScale has dtype"},
    {kExperts, {{"weightScale", {ACL_FLOAT, {2, 2}}}}, "weightScale has shape (2, 2)"},
    {kExperts, {{"xScale", {ACL_FLOAT, {2}}}}, "xScale has shape (2,)"},
    {kExperts, {{"xScale", {ACL_FLOAT16, {3}}}}, "xScale has dtype ACL_FLOAT16"},
    {kExperts, {{"groupList", {ACL_INT32, {2}}}}, "groupList has dtype ACL_INT32"},
    {kExperts, {{"groupList", {ACL_INT64, {3}}}}, "groupList has shape (3,)"},
    {kExperts, {{"output", {ACL_INT4, {3, 2}}}}, "output has dtype ACL_INT4"},
    {kExperts, {{"output", {ACL_INT8, {3, 4}}}}, "output has shape (3, 4)"},
    {kExperts, {{"outputScale", {ACL_FLOAT, {3, 1}}}}, "outputScale has"},
    {kExperts, {{"outputOffset", {ACL_FLOAT, {3}}}}, "outputOffset is given"},
};

const Parameters kMixed{{"x", {ACL_INT8, {1, 2}, {9, 7}}},
                        {"weight[0]", {ACL_INT4, {1, 2, 8}, kCodes}},
                        {"weightAssistMatrix[0]", {ACL_FLOAT, {1, 8}, kBias}},
                        {"weightScale[0]", {ACL_FLOAT, {1, 8}, kScales}},
                        {"xScale", {ACL_FLOAT, {1}, {2}}},
                        {"groupList", {ACL_INT64, {1}, {1}}},
                        {"output", {ACL_INT8, {1, 4}, {8, 17, 0, 127}}},
                        {"outputScale", {ACL_FLOAT, {1}, {1920.f / 127}}}};
// [1, -1] by 7 4 1 2 and -1 0 0 0, times 8: gates of 64 and 32 by 8 and 16.
const float kEight = 0x141000000p0f;
const Parameters kWhole{{"x", {ACL_INT4, {1, 2}, {0xf1}}},
                        {"weight[0]", {ACL_INT4, {1, 2, 4}, {0x47, 0x21, 0x0f, 0}}},
                        {"weightScale[0]", {ACL_UINT64, {1, 4}, {kEight, kEight, kEight, kEight}}},
                        {"xScale", {ACL_FLOAT, {1}, {1}}},
                        {"groupList", {ACL_INT64, {1}, {1}}},
                        {"smoothScale", {ACL_FLOAT, {1, 2}, {1, 4}}},
                        {"output", {ACL_INT8, {1, 2}, {32, 127}}},
                        {"outputScale", {ACL_FLOAT, {1}, {2048.f / 127}}}};
// 16 by 4 and -1/8, by 2 and 1/2, is 64 and -2: -128 is -2^8 of 2^-1.
const Parameters kBlocks{{"x", {ACL_FLOAT8_E4M3FN, {1, 1}, {0x58}}},
                         {"weight[0]", {ACL_FLOAT8_E4M3FN, {1, 1, 2}, {0x48, 0xa0}}},
                         {"weightScale[0]", {ACL_FLOAT8_E8M0, {1, 1, 2, 2}, {126, 0, 126, 0}}},
                         {"xScale", {ACL_FLOAT8_E8M0, {1, 1, 2}, {128, 0}}},
                         {"groupList", {ACL_INT64, {1}, {1}}},
                         {"dequantMode", 2},
                         {"quantMode", 2},
                         {"output", {ACL_FLOAT8_E4M3FN, {1, 1}, {0xf8}}},
                         {"outputScale", {ACL_FLOAT8_E8M0, {1, 1, 2}, {126, 0}}}};

const Vector kSecondVectors[] = {
    {kExpertsV2, {{"groupList", {ACL_INT64, {2}, {1, 2}}}, {"groupListType", 0}}},
    {kExpertsV2, kMixed},
    {kExpertsV2,
     with(kMixed, {{"weightScale[0]",
                    {ACL_FLOAT, {1, 2, 8}, {4, 4, 4, 4, 2, 2, 2, 2, 4, 4, 4, 4, 1, 1, 1, 1}}},
                   {"dequantMode", 1},
                   {"output", {ACL_INT8, {1, 4}, {12, 23, 0, 127}}},
                   {"outputScale", {ACL_FLOAT, {1}, {2816.f / 127}}}})},
    {kExpertsV2, kWhole},
    {kExpertsV2, with(kWhole, {{"weightScale[0]", {ACL_FLOAT, {1, 4}, {8, 8, 8, 8}}},
                               {"smoothScale", {ACL_FLOAT, {1}, {0.5f}}},
                               {"output", {ACL_INT8, {1, 2}, {127, 127}}},
                               {"outputScale", {ACL_FLOAT, {1}, {256.f / 127}}}})},
    {kExpertsV2, kBlocks},
};

const Refusal kSecondRefusals[] = {
    {kExpertsV2, {{"x", {ACL_FLOAT16, {3, 1}}}}, "x has dtype ACL_FLOAT16"},
    {kExpertsV2, {{"weight[0]", {ACL_FLOAT16, {2, 1, 4}}}}, "weight[0] has dtype ACL_FLOAT16"},
    {kExpertsV2, {{"weight[0]", {ACL_INT4, {2, 1, 4}}}}, "weightAssistMatrix is NULL"},
    {kExpertsV2, {{"weight[0]", {ACL_INT8, {2, 2, 4}}}}, "weight[0] has shape (2, 2, 4)"},
    {kExpertsV2, {{"weight[0]", {ACL_INT8, {1, 4}}}}, "weight[0] has 2 dimensions"},
    {kExpertsV2, {{"weightScale[0]", {ACL_BF16, {2, 4}}}}, "weightScale[0] has dtype ACL_BF16"},
    {kExpertsV2, {{"weightScale[0]", {ACL_FLOAT, {2, 3}}}}, "weightScale[0] has shape (2, 3)"},
    {kExpertsV2,
     {{"weightAssistMatrix[0]", {ACL_FLOAT, {2, 4}}}},
     "weightAssistMatrix[0] is given"},
    {kExpertsV2, with(kMixed, {{"weightAssistMatrix[0]", {ACL_FLOAT, {1, 4}}}}),
     "weightAssistMatrix[0] has shape (1, 4)"},
    {kExpertsV2, {{"bias", {ACL_FLOAT, {2, 4}}}}, "bias is given"},
    {kExpertsV2, {{"xScale", {ACL_FLOAT, {2}}}}, "xScale has shape (2,)"},
    {kExpertsV2, {{"smoothScale", {ACL_FLOAT, {2}}}}, "smoothScale is given"},
    {kExpertsV2, with(kWhole, {{"smoothScale", {ACL_FLOAT, {2}}}}), "smoothScale has shape (2,)"},
    {kExpertsV2, {{"groupList", {ACL_INT64, {3}}}}, "groupList has shape (3,)"},
    {kExpertsV2, {{"groupListType", 2}}, "groupListType is 2"},
    {kExpertsV2, {{"dequantMode", 1}}, "dequantMode is 1"},
    {kExpertsV2, {{"dequantDtype", 1}}, "dequantDtype is ACL_FLOAT16"},
    {kExpertsV2, {{"dequantDtype", 99}}, "dequantDtype is 99"},
    {kExpertsV2, {{"quantMode", 1}}, "quantMode is 1"},
    {kExpertsV2, {{"output", {ACL_FLOAT8_E5M2, {3, 2}}}}, "output has dtype ACL_FLOAT8_E5M2"},
    {kExpertsV2, {{"output", {ACL_INT8, {3, 4}}}}, "output has shape (3, 4)"},
    {kExpertsV2, {{"outputScale", {ACL_FLOAT, {2}}}}, "outputScale has shape (2,)"},
};

TEST_F(Values, OfProductsByExperts) { expect_values(stream, kExpertVectors); }
TEST_F(Values, OfProductsByExpertsInLists) { expect_values(stream, kSecondVectors); }
TEST_F(Refusals, OfProductsByExperts) { expect_refusals(kExpertRefusals); }
TEST_F(Refusals, OfProductsByExpertsInLists) { expect_refusals(kSecondRefusals); }

}  // namespace
}  // namespace npu_quant::testing
