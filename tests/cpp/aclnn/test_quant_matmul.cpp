// aclnnQuantMatmulV4, V5: results by hand, what each parameter does, and what first phases refuse.
#include "aclnnop/aclnn_quant_matmul_v4.h"
#include "aclnnop/aclnn_quant_matmul_v5.h"
#include "phases.h"
#include "refusals.h"
#include "values.h"

namespace npu_quant::testing {
namespace {

const char kMatmul[] = "aclnnQuantMatmul", kMatmulV4[] = "aclnnQuantMatmulV4",
           kMatmulV5[] = "aclnnQuantMatmulV5";
const Given kMatmulFirst{ACL_INT8, {2, 2}, {1, 2, -3, 4}};
const Given kMatmulSecond{ACL_INT8, {2, 3}, {5, -6, 7, 8, 9, -10}};

}  // namespace

// The sums are 21 12 -13 and 17 54 -61.
std::vector<Function> quant_products() {
  const Parameters factors{{"x1", kMatmulFirst}, {"x2", kMatmulSecond}};
  const Given scales{ACL_FLOAT, {3}, {0.5f, 1, 2}}, rows{ACL_FLOAT, {2}, {1, 0.25f}};
  const Parameters bias{{"bias", {ACL_FLOAT, {3}, {1, 0, -1}}, kOptional},
                        {"transposeX1", false},
                        {"transposeX2", false}};
  const Parameters out{{"out", {ACL_FLOAT16, {2, 3}, {11.5f, 12, -27, 3.125f, 13.5f, -31.5f}}}};
  return {{kMatmul, 4, of(aclnnQuantMatmulV4GetWorkspaceSize), aclnnQuantMatmulV4,
           factors +
               Parameters{{"scale", scales},
                          {"offset", kNull, kOptional},
                          {"pertokenScaleOptional", rows, kOptional}} +
               bias + out},
          {kMatmul, 5, of(aclnnQuantMatmulV5GetWorkspaceSize), aclnnQuantMatmulV5,
           factors +
               Parameters{{"x1Scale", rows, kOptional},
                          {"x2Scale", scales},
                          {"yScale", kNull, kOptional},
                          {"x1Offset", kNull, kOptional},
                          {"x2Offset", kNull, kOptional},
                          {"yOffset", kNull, kOptional}} +
               bias + Parameters{{"groupSize", 0}} + out}};
}

namespace {

const Parameters kMatmulCodes{{"pertokenScaleOptional", kNull},
                              {"bias", kNull},
                              {"scale", {ACL_FLOAT, {1}, {0.5f}}},
                              {"out", {ACL_INT8, {2, 3}, {10, 6, -6, 8, 27, -30}}}};
// Of 0.5, and the offset -3.
const std::vector<float> kMatmulWord = {0x1.fe80fcp46f};
const Given kMatmulOnes{ACL_INT4, {2, 16}, std::vector<float>(16, 0x11)};
// Of 1, twice, and of 1/2.
const std::vector<float> kMatmulCarriers = {0x3f800000, 0x3f800000, 0x3f000000, 0x3f000000};
const Parameters kMatmulGroups{{"x1", kMatmulOnes},
                               {"x2", {ACL_INT4, {16, 2}, std::vector<float>(16, 0x11)}},
                               {"x1Scale", {ACL_FLOAT, {2, 1}, {1, 2}}},
                               {"x2Scale", {ACL_FLOAT, {2, 2}, {1, 2, 0.5f, 4}}},
                               {"x2Offset", {ACL_FLOAT16, {2, 2}, {0.5f, 1, 0, -1}}},
                               {"bias", kNull},
                               {"out", {ACL_FLOAT16, {2, 2}, {8, 64, 16, 128}}}};
const Parameters kMatmulShifted{{"x1", {ACL_INT8, {1, 16}, std::vector<float>(16, 9)}},
                                {"x2", {ACL_INT4, {16, 2}, std::vector<float>(16, 0x33)}},
                                {"x1Scale", {ACL_FLOAT, {1}, {2}}},
                                {"x2Scale", {ACL_UINT64, {2, 2}, kMatmulCarriers}},
                                {"yOffset", {ACL_FLOAT, {2}, {100, 0}}},
                                {"bias", kNull},
                                {"groupSize", 8},
                                {"out", {ACL_BF16, {1, 2}, {272, 72}}}};
// 1 and 2 by 1 and 2, of float8_e4m3fn.
const Parameters kMatmulFloats{{"x1", {ACL_FLOAT8_E4M3FN, {2, 2}, {0x38, 0x40, 0x38, 0x38}}},
                               {"x2", {ACL_FLOAT8_E4M3FN, {2, 1}, {0x38, 0x40}}},
                               {"x2Scale", {ACL_FLOAT, {1}, {2}}},
                               {"bias", {ACL_FLOAT, {1}, {1}}},
                               {"out", {ACL_FLOAT, {2, 1}, {12, 8}}}};
const Parameters kMatmulMx{{"x1", {ACL_FLOAT4_E2M1, {1, 2}, {0x22}}},
                           {"x2", {ACL_FLOAT4_E2M1, {2, 2}, {0x42, 0x22}}},
                           {"x1Scale", {ACL_FLOAT8_E8M0, {1, 1, 2}, {128, 0}}},
                           {"x2Scale", {ACL_FLOAT8_E8M0, {1, 2, 2}, {127, 0, 126, 0}}},
                           {"bias", kNull},
                           {"out", {ACL_FLOAT, {1, 2}, {4, 3}}}};

const Vector kMatmulVectors[] = {
    {kMatmul,
     {{"x1", {ACL_INT8, {2, 2}, {1, -3, 2, 4}}},
      {"transposeX1", true},
      {"x2", {ACL_INT8, {3, 2}, {5, 8, -6, 9, 7, -10}}},
      {"transposeX2", true}}},
    {kMatmulV4, kMatmulCodes},
    {kMatmulV4, with(kMatmulCodes, {{"offset", {ACL_FLOAT, {1}, {1}}},
                                    {"out", {ACL_INT8, {2, 3}, {12, 7, -6, 10, 28, -30}}}})},
    {kMatmulV4, with(kMatmulCodes, {{"scale", {ACL_INT64, {1}, kMatmulWord}},
                                    {"out", {ACL_INT8, {2, 3}, {8, 3, -10, 6, 24, -34}}}})},
    {kMatmulV4, with(kMatmulCodes, {{"scale", {ACL_UINT64, {1}, kMatmulWord}},
                                    {"out", {ACL_INT8, {2, 3}, {8, 3, -10, 6, 24, -34}}}})},
    {kMatmulV4, with(kMatmulCodes, {{"scale", {ACL_BF16, {3}, {0.5f, 1, 2}}},
                                    {"bias", {ACL_INT32, {3}, {-21, 0, 1}}},
                                    {"out", {ACL_BF16, {2, 3}, {0, 12, -24, -2, 54, -120}}}})},
    {kMatmulV4,
     with(kMatmulCodes,
          {{"out", {ACL_INT32, {2, 3}, {21, 0, 0, 0, 12, 0, 0, 0, 0xf3, 0xff, 0xff, 0xff,
                                        17, 0, 0, 0, 54, 0, 0, 0, 0xc3, 0xff, 0xff, 0xff}}}})},
    {kMatmulV5, kMatmulGroups},
    {kMatmulV5, with(kMatmulGroups, {{"groupSize", (int64_t{1} << 32) + (1 << 16) + 8}})},
    {kMatmulV5, with(kMatmulGroups, {{"x2", {ACL_INT4, {2, 16}, std::vector<float>(16, 0x11)}},
                                     {"transposeX2", true}})},
    {kMatmulV5, with(kMatmulGroups, {{"x1", {ACL_INT4, {16, 2}, std::vector<float>(16, 0x11)}},
                                     {"transposeX1", true}})},
    {kMatmulV5, kMatmulShifted},
    {kMatmulV5, with(kMatmulFloats, {{"x1Scale", kNull}})},
    {kMatmulV5, with(kMatmulFloats, {{"x1Scale", {ACL_FLOAT, {2}, {1, 0.5f}}},
                                     {"out", {ACL_FLOAT16, {2, 1}, {12, 4}}}})},
    {kMatmulV5, kMatmulMx},
};

const Refusal kMatmulRows[] = {
    {kMatmulV4, {{"x1", {ACL_FLOAT8_E4M3FN, {2, 2}}}}, "x1 has dtype ACL_FLOAT8_E4M3FN, available"},
    {kMatmulV5, {{"x1", {ACL_FLOAT16, {2, 2}}}}, "x1 has dtype ACL_FLOAT16, available"},
    {kMatmul, {{"x2", {ACL_UINT8, {2, 3}}}}, "x2 has dtype ACL_UINT8, available"},
    {kMatmulV4, {{"scale", {ACL_FLOAT16, {3}}}}, "scale has dtype ACL_FLOAT16"},
    {kMatmulV4, {{"offset", {ACL_INT32, {3}}}}, "offset has dtype ACL_INT32"},
    {kMatmulV4,
     {{"pertokenScaleOptional", {ACL_BF16, {2}}}},
     "pertokenScaleOptional has dtype ACL_BF16"},
    {kMatmul, {{"bias", {ACL_INT8, {3}}}}, "bias has dtype ACL_INT8"},
    {kMatmul, {{"out", {ACL_FLOAT, {2, 3}}}}, "the dtype of out is ACL_FLOAT, available: ACL_INT8"},
    {kMatmul, {{"x1", {ACL_INT8, {2}}}}, "x1 has 1 dimension"},
    {kMatmul, {{"x1", {ACL_INT8, {2, 3}}}}, "x2 has shape (2, 3), expected length 3 along axis -2"},
    {kMatmulV4, {{"scale", {ACL_FLOAT, {2}}}}, "scale has shape (2,)"},
    {kMatmulV4, {{"offset", {ACL_FLOAT, {3}}}}, "offset is given, expected NULL for results of"},
    {kMatmul, {{"bias", {ACL_FLOAT, {2}}}}, "bias has shape (2,)"},
    {kMatmul, {{"out", {ACL_FLOAT16, {3, 2}}}}, "out has shape (3, 2)"},
    {kMatmulV5, {{"yScale", {ACL_UINT64, {3}}}}, "yScale is given, expected NULL"},
    {kMatmulV5, {{"x1Offset", {ACL_FLOAT, {3}}}}, "x1Offset is given, expected NULL."},
    {kMatmulV5, {{"yOffset", {ACL_FLOAT, {3}}}}, "yOffset is given, expected NULL."},
    {kMatmulV5, with(kMatmulShifted, {{"x2Offset", {ACL_FLOAT, {1}}}}),
     "x2Offset is given, expected NULL."},
    {kMatmulV5, with(kMatmulShifted, {{"yOffset", kNull}}), "yOffset is NULL"},
    {kMatmulV5, with(kMatmulShifted, {{"groupSize", 7}}),
     "groupSize is [0, 0, 7], expected [0, 0, g]"},
    {kMatmulV5, {{"groupSize", 2}}, "groupSize is given, expected NULL"},
    {kMatmulV5, with(kMatmulGroups, {{"x2Offset", {ACL_FLOAT, {2, 2}}}}),
     "x2Offset has dtype ACL_FLOAT"},
    {kMatmulV5, with(kMatmulMx, {{"x2Scale", {ACL_FLOAT8_E8M0, {2, 1, 2}}}}),
     "x2Scale has shape (2, 1, 2)"},
};

TEST_F(Values, OfQuantMatmul) { expect_values(stream, kMatmulVectors); }
TEST_F(Refusals, OfQuantMatmul) { expect_refusals(kMatmulRows); }

}  // namespace
}  // namespace npu_quant::testing
