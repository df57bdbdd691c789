// What each parameter of a norm does, as test_values.cpp has it of other functions.
#include "values.h"

namespace npu_quant::testing {
namespace {

const Vector kAddRmsNormVectors[] = {
    // The root of 4 + 12 is 4.
    {"aclnnRmsNorm",
     {{"epsilon", 12.0},
      {"yOut", {ACL_FLOAT16, {2, 4}, {0.5f, -1, 1.5f, -2, 1, 0, 0, 0}}},
      {"rstdOut", {ACL_FLOAT, {2, 1}, {0.25f, 0.25f}}}}},
    {"aclnnRmsNorm",
     {{"gamma", {ACL_FLOAT, {4}, {0x1.004p0f, 2, 3, 4}}},
      {"yOut", {ACL_FLOAT16, {2, 4}, {0x1.004p0f, -2, 3, -4, 0x1.004p1f, 0, 0, 0}}}}},
    {"aclnnRmsNorm",
     {{"gamma", {ACL_FLOAT16, {2, 4}, {1, 1, 1, 1, 1, 1, 1, 1}}},
      {"x", {ACL_FLOAT16, {2, 4}, {4, -4, 0, 0, 0, 0, 0, 0}}},
      {"yOut", {ACL_FLOAT16, {2, 4}, {2, -2, 0, 0, 0, 0, 0, 0}}},
      {"rstdOut", {ACL_FLOAT, {1, 1}, {0.5f}}}}},
    {"aclnnAddRmsNorm",
     {{"epsilon", 12.0},
      {"yOut", {ACL_FLOAT16, {2, 4}, {0.5f, -1, 1.5f, -2, 1, 0, 0, 0}}},
      {"rstdOut", {ACL_FLOAT, {2, 1}, {0.25f, 0.25f}}}}},
    {"aclnnAddRmsNorm", {{"gamma", {ACL_FLOAT16, {1, 4}, {1, 2, 3, 4}}}}},
    {"aclnnAddRmsNorm",
     {{"x1", {ACL_BF16, {1, 2}, {1, -1}}},
      {"x2", {ACL_BF16, {1, 2}, {1, -1}}},
      {"gamma", {ACL_BF16, {2}, {3, 4}}},
      {"yOut", {ACL_BF16, {1, 2}, {3, -4}}},
      {"rstdOut", {ACL_FLOAT, {1, 1}, {0.5f}}},
      {"xOut", {ACL_BF16, {1, 2}, {2, -2}}}}},
    {"aclnnAddRmsNorm",
     {{"x1", {ACL_FLOAT, {1, 2}, {1, -1}}},
      {"x2", {ACL_FLOAT, {1, 2}, {1, -1}}},
      {"gamma", {ACL_FLOAT, {2}, {3, 4}}},
      {"yOut", {ACL_FLOAT, {1, 2}, {3, -4}}},
      {"rstdOut", {ACL_FLOAT, {1, 1}, {0.5f}}},
      {"xOut", {ACL_FLOAT, {1, 2}, {2, -2}}}}},
};

const Parameters kOneRow{{"x1", {ACL_FLOAT16, {4}, {1, -1, 3, 0}}},
                         {"x2", {ACL_FLOAT16, {4}, {1, -1, -1, -2}}},
                         {"xOut", {ACL_FLOAT16, {4}, {2, -2, 2, -2}}},
                         {"rmsNormOut", {ACL_FLOAT16, {4}, {1, -2, 3, -4}}}};
const Vector kAddRmsNormQuantVectors[] = {
    {"aclnnAddRmsNormQuant",
     {{"divMode", false},
      {"y1Out", {ACL_INT8, {2, 4}, {2, 0, 7, -3, 3, 1, 1, 1}}},
      {"y2Out", {ACL_INT8, {2, 4}, {2, 1, 4, -28, 2, 2, 3, 4}}}}},
    // The root of 4 + 12 is 4.
    {"aclnnAddRmsNormQuant",
     {{"epsilon", 12.0},
      {"y1Out", {ACL_INT8, {2, 4}, {2, -1, 2, -1, 2, 1, 1, 1}}},
      {"y2Out", {ACL_INT8, {2, 4}, {2, 0, 9, 4, 3, 2, 3, 4}}},
      {"rmsNormOut", {ACL_FLOAT16, {2, 4}, {0.5f, -1, 1.5f, -2, 1, 0, 0, 0}}}}},
    {"aclnnAddRmsNormQuant",
     {{"axis", -100},
      {"scales2Optional", kNull},
      {"y2Out", {ACL_INT8, {2, 4}, {0, 0, 0, 0, 0, 0, 0, 0}}}}},
    {"aclnnAddRmsNormQuant",
     {{"zeroPoints2Optional", kNull}, {"y2Out", {ACL_INT8, {2, 4}, {2, -4, 12, 0, 4, 0, 0, 0}}}}},
    // 2 -3 2.5 -3 and 3 -2 15 3.5 as codes.
    {"aclnnAddRmsNormQuant",
     with(kOneRow, {{"y1Out", {ACL_FLOAT8_E4M3FN, {4}, {0x40, 0xc4, 0x42, 0xc4}}},
                    {"y2Out", {ACL_FLOAT8_E4M3FN, {4}, {0x44, 0xc0, 0x57, 0x46}}}})},
    {"aclnnAddRmsNormQuant",
     with(kOneRow, {{"y1Out", {ACL_FLOAT8_E5M2, {4}, {0x40, 0xc2, 0x41, 0xc2}}},
                    {"y2Out", {ACL_FLOAT8_E5M2, {4}, {0x42, 0xc0, 0x4c, 0x43}}}})},
    {"aclnnAddRmsNormQuant",
     with(kOneRow, {{"y1Out", {ACL_HIFLOAT8, {4}, {0x10, 0x94, 0x12, 0x94}}},
                    {"y2Out", {ACL_HIFLOAT8, {4}, {0x14, 0x90, 0x2f, 0x16}}}})},
    {"aclnnAddRmsNormQuantV2",
     {{"betaOptional", {ACL_FLOAT16, {1, 4}, {0.25f, 0.75f, -1, 0}}},
      {"gamma", {ACL_FLOAT16, {1, 4}, {1, 2, 3, 4}}},
      {"y1Out", {ACL_INT8, {2, 4}, {2, -2, 2, -3, 3, 2, 0, 1}}},
      {"y2Out", {ACL_INT8, {2, 4}, {4, 0, 11, 4, 6, 4, -1, 4}}},
      {"rmsNormOut", {ACL_FLOAT16, {2, 4}, {1.25f, -1.25f, 2, -4, 2.25f, 0.75f, -1, 0}}}}},
};

TEST_F(Values, OfAddRmsNorm) { expect_values(stream, kAddRmsNormVectors); }
TEST_F(Values, OfAddRmsNormQuant) { expect_values(stream, kAddRmsNormQuantVectors); }

}  // namespace
}  // namespace npu_quant::testing
