// aclnnGroupQuant and aclnnDequantBias: other arguments than those of functions.cpp, by hand.
#include "values.h"

namespace npu_quant::testing {
namespace {

const Vector kGroupQuantVectors[] = {
    // The first group has no rows; -4 to 3 twice, and 2 from the second row on.
    {"aclnnGroupQuant",
     {{"x", {ACL_FLOAT16, {1, 8}, {-4, -3, -2, -1, 0, 1, 2, 3}}},
      {"scale", {ACL_BF16, {2, 8}, {9, 9, 9, 9, 9, 9, 9, 9, 2, 2, 2, 2, 2, 2, 2, 2}}},
      {"groupIndex", {ACL_INT64, {2}, {0, 1}}},
      {"offsetOptional", kNull},
      {"y", {ACL_INT32, {1, 1}, {0xa8, 0xec, 0x20, 0x64}}}}},
    {"aclnnGroupQuant",
     {{"offsetOptional", {ACL_FLOAT, {}, {-1}}},
      {"y", {ACL_INT4, {2, 4}, {0xd0, 0x72, 0xe0, 0x70}}}}},
};

const Vector kDequantBiasVectors[] = {
    // As floats the first would be 0.
    {"aclnnDequantBias",
     {{"x", {ACL_INT32, {1, 2}, {16777216, -3}}},
      {"weightScale", {ACL_BF16, {2}, {1, 0.5f}}},
      {"activateScaleOptional", kNull},
      {"biasOptional", {ACL_INT32, {2}, {-16777214, 1}}},
      {"out", {ACL_BF16, {1, 2}, {2, -1}}}}},
    {"aclnnDequantBias",
     {{"biasOptional", {ACL_FLOAT16, {3}, {0.5f, 0, -8}}},
      {"out", {ACL_FLOAT16, {2, 3}, {1.5f, 4, 4, 40.5f, 100, 232}}}}},
    {"aclnnDequantBias",
     {{"biasOptional", {ACL_BF16, {3}, {0.5f, 0, -8}}},
      {"activateScaleOptional", kNull},
      {"out", {ACL_FLOAT16, {2, 3}, {1.5f, 4, 4, 4.5f, 10, 16}}}}},
    {"aclnnDequantBias",
     {{"biasOptional", kNull}, {"out", {ACL_FLOAT16, {2, 3}, {1, 4, 12, 40, 100, 240}}}}},
};

using SumsAndGroups = OnDevice;

TEST_F(SumsAndGroups, OfGroupQuant) { expect_values(stream, kGroupQuantVectors); }
TEST_F(SumsAndGroups, OfDequantBias) { expect_values(stream, kDequantBiasVectors); }

// Elements are there in the second phase only.
TEST_F(SumsAndGroups, EndsThatDoNotFitAreRefusedInTheSecondPhase) {
  for (const std::vector<float>& ends : {std::vector<float>{2, 1}, {0, 1}, {-1, 2}, {1, 3}}) {
    const Call call(functions_of("aclnnGroupQuant")[0], {{"groupIndex", {ACL_INT32, {2}, ends}}});
    EXPECT_EQ(run(stream, call.phase2(), call), 161002);
  }
}

}  // namespace
}  // namespace npu_quant::testing
