// aclnnWeightQuantBatchMatmulV2, V3: results by hand, what each parameter does, and what first
// phases refuse.
#include "aclnnop/aclnn_weight_quant_batch_matmul_v2.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v3.h"
#include "phases.h"
#include "refusals.h"
#include "values.h"

namespace npu_quant::testing {
namespace {

const char kWeightQuant[] = "aclnnWeightQuantBatchMatmul";

}  // namespace

// The weight stands for [3, -6, 12], [4.5, 9, -22]: sums of 12, 12 and -32, then 14, 11 and -32.
std::vector<Function> weight_quant_products() {
  const Parameters inputs{{"x", {ACL_FLOAT16, {1, 2}, {1, 2}}},
                          {"weight", {ACL_INT8, {2, 3}, {5, -6, 7, 8, 9, -10}}},
                          {"antiquantScale", {ACL_FLOAT16, {1, 3}, {0.5f, 1, 2}}},
                          {"antiquantOffsetOptional", {ACL_FLOAT16, {1, 3}, {1, 0, -1}}, kOptional},
                          {"quantScaleOptional", kNull, kOptional},
                          {"quantOffsetOptional", kNull, kOptional},
                          {"biasOptional", {ACL_FLOAT, {3}, {2, -1, 0}}, kOptional},
                          {"antiquantGroupSize", 0}};
  const Parameters results{{"y", {ACL_FLOAT16, {1, 3}, {14, 11, -32}}}};
  return {{kWeightQuant, 2, of(aclnnWeightQuantBatchMatmulV2GetWorkspaceSize),
           aclnnWeightQuantBatchMatmulV2, inputs + results},
          {kWeightQuant, 3, of(aclnnWeightQuantBatchMatmulV3GetWorkspaceSize),
           aclnnWeightQuantBatchMatmulV3, inputs + Parameters{{"innerPrecise", 0}} + results}};
}

namespace {

const Parameters kPlainWeights{{"antiquantOffsetOptional", kNull}, {"biasOptional", kNull}};
// 7.5 and 11.5 are ties.
const Parameters kQuantized{{"quantScaleOptional", {ACL_FLOAT, {3}, {0.5f, 1, 10}}},
                            {"quantOffsetOptional", {ACL_FLOAT, {1}, {0.5f}}},
                            {"y", {ACL_INT8, {1, 3}, {8, 12, -128}}}};
const testing::Parameter kOneForWeights{"antiquantScale", {ACL_FLOAT16, {1}, {2}}};

// Words of 0.5 and the offset 2, of 1 and none, of 8 and -1.
const std::vector<float> kCarriers = {0x40403f000000p0f, 0x40003f800000p0f, 0x7fe041000000p0f};
// -8 to -1, twice: rows of a weight, or columns of it.
const std::vector<float> kWordsOfCodes = {0x98, 0xba, 0xdc, 0xfe, 0x98, 0xba, 0xdc, 0xfe};
const std::vector<float> kSignedWords = {-0x1234568p0f, -0x1234568p0f};
const Given kOfOneRow{ACL_FLOAT16, {1, 8}, {-48, -42, -36, -30, -24, -18, -12, -6}};

const Vector kWeightQuantVectors[] = {
    {kWeightQuant, kQuantized},
    {kWeightQuant, with(kPlainWeights, {{"y", {ACL_FLOAT16, {1, 3}, {10.5f, 12, -26}}}})},
    {kWeightQuant,
     with(kPlainWeights, {kOneForWeights, {"y", {ACL_FLOAT16, {1, 3}, {42, 24, -26}}}})},
    {kWeightQuant,
     {{"x", {ACL_BF16, {1, 2}, {1, 2}}},
      {"antiquantScale", {ACL_BF16, {3}, {0.5f, 1, 2}}},
      {"antiquantOffsetOptional", {ACL_BF16, {3}, {1, 0, -1}}},
      {"biasOptional", {ACL_BF16, {3}, {2, -1, 0}}},
      {"y", {ACL_BF16, {1, 3}, {14, 11, -32}}}}},
    {kWeightQuant,
     with(kQuantized, {{"quantOffsetOptional", kNull}, {"y", {ACL_INT8, {1, 3}, {7, 11, -128}}}})},
    {kWeightQuant,
     {{"quantScaleOptional", {ACL_UINT64, {1, 3}, kCarriers}},
      {"y", {ACL_INT8, {1, 3}, {9, 11, -128}}}}},
    {kWeightQuant,
     with(kPlainWeights,
          {{"weight", {ACL_INT4, {2, 8}, kWordsOfCodes}}, kOneForWeights, {"y", kOfOneRow}})},
    {kWeightQuant,
     with(kPlainWeights,
          {{"weight", {ACL_INT32, {2, 1}, kSignedWords}}, kOneForWeights, {"y", kOfOneRow}})},
    {kWeightQuant, with(kPlainWeights, {{"x", {ACL_FLOAT16, {1, 8}, {1, 0, 0, 0, 0, 0, 0, 3}}},
                                        {"weight", {ACL_INT32, {1, 2}, kSignedWords}},
                                        kOneForWeights,
                                        {"y", {ACL_FLOAT16, {1, 2}, {-22, -22}}}})},
    // Codes of 1 and 1.5, -1 and -1.5 by 2, of one row and of the others 0.
    {kWeightQuant,
     with(kPlainWeights, {{"x", {ACL_FLOAT16, {1, 2}, {1, 0}}},
                          {"weight", {ACL_FLOAT4_E2M1, {2, 4}, {0x32, 0xba, 0, 0}}},
                          {"antiquantScale", {ACL_FLOAT8_E8M0, {1, 4}, {128, 128, 128, 127}}},
                          {"antiquantGroupSize", 32},
                          {"y", {ACL_FLOAT16, {1, 4}, {2, 3, -2, -1.5f}}}})},
    {"aclnnWeightQuantBatchMatmulV3", {{"innerPrecise", 1}}},
};

const Refusal kWeightQuantRefusals[] = {
    {kWeightQuant, {{"x", {ACL_FLOAT, {1, 2}}}}, "x has dtype ACL_FLOAT"},
    {kWeightQuant, {{"weight", {ACL_UINT8, {2, 3}}}}, "weight has dtype ACL_UINT8"},
    {kWeightQuant, {{"antiquantScale", {ACL_BF16, {3}}}}, "antiquantScale has dtype ACL_BF16"},
    {kWeightQuant,
     {{"antiquantOffsetOptional", {ACL_FLOAT, {1, 3}}}},
     "the dtype of antiquantScale"},
    {kWeightQuant, {{"quantScaleOptional", {ACL_FLOAT16, {3}}}}, "quantScaleOptional has dtype"},
    {kWeightQuant, {{"quantOffsetOptional", {ACL_INT32, {1}}}}, "quantOffsetOptional has dtype"},
    {kWeightQuant, {{"biasOptional", {ACL_BF16, {3}}}}, "biasOptional has dtype ACL_BF16"},
    {kWeightQuant, {{"y", {ACL_INT8, {1, 3}}}}, "y has dtype ACL_INT8, expected ACL_FLOAT16"},
    {kWeightQuant, {{"weight", {ACL_INT8, {3, 3}}}}, "weight has shape (3, 3)"},
    {kWeightQuant, {{"antiquantScale", {ACL_FLOAT16, {2}}}}, "antiquantScale has shape (2,)"},
    {kWeightQuant, {{"quantOffsetOptional", {ACL_FLOAT, {1}}}}, "quantScaleOptional is NULL"},
    {kWeightQuant, {{"biasOptional", {ACL_FLOAT, {1}}}}, "biasOptional has shape (1,)"},
    {kWeightQuant, {{"antiquantGroupSize", 32}}, "antiquantGroupSize is 32"},
    {"aclnnWeightQuantBatchMatmulV3", {{"innerPrecise", 2}}, "innerPrecise is 2"},
    {kWeightQuant, {{"y", {ACL_FLOAT16, {3, 1}}}}, "y has shape (3, 1)"},
};

TEST_F(Values, OfWeightQuantBatchMatmul) { expect_values(stream, kWeightQuantVectors); }
TEST_F(Refusals, OfWeightQuantBatchMatmul) { expect_refusals(kWeightQuantRefusals); }

}  // namespace
}  // namespace npu_quant::testing
