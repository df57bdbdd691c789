// What each parameter of the functions of experts does, and what their first phases refuse, as
// test_values.cpp and test_refusals.cpp have it of other functions.
#include "aclnnop/aclnn_moe_init_routing_v3.h"
#include "aclnnop/aclnn_moe_token_unpermute.h"
#include "refusals.h"
#include "values.h"

namespace npu_quant::testing {
namespace {

const char kInit[] = "aclnnMoeInitRoutingV3", kPermute[] = "aclnnMoeTokenPermute";
const char kUnpermute[] = "aclnnMoeTokenUnpermute", kFinal[] = "aclnnMoeFinalizeRouting";
const char kFinalV2[] = "aclnnMoeFinalizeRoutingV2";

// An int32 is four bytes, an int64 eight.
std::vector<float> bytes_of_integers(const std::vector<int>& numbers, size_t size) {
  std::vector<float> bytes;
  for (const int number : numbers)
    for (size_t i = 0; i < size; ++i)
      bytes.push_back(i == 0 ? static_cast<float>(number & 255) : number < 0 ? 255.f : 0.f);
  return bytes;
}
Given int32s(const std::vector<int>& numbers) {
  return {ACL_INT32, {static_cast<int64_t>(numbers.size())}, bytes_of_integers(numbers, 4)};
}
Given int64s(const Dims& shape, const std::vector<int>& numbers) {
  return {ACL_INT64, shape, bytes_of_integers(numbers, 8)};
}

const testing::Parameter kNoScale{"scaleOptional", kNull};
const testing::Parameter kNoScales{"expandedScaleOut", {ACL_FLOAT, {4}, {0, 0, 0, 0}}};
const Parameters kRoutedCodes{
    {"quantMode", 1},
    kNoScale,
    {"expandedXOut", {ACL_INT8, {4, 2}, {127, -64, 127, 95, 127, -64, 127, 95}}},
    {"expandedScaleOut", {ACL_FLOAT, {4}, {4.f / 127, 8.f / 127, 4.f / 127, 8.f / 127}}}};

// 4 / 7 is rounded up, so that -2 by it is less than the tie -3.5.
const Vector kInitVectors[] = {
    {kInit, {kNoScale, kNoScales}},
    {kInit, kRoutedCodes},
    {kInit,
     with(kRoutedCodes,
          {{"scaleOptional", {ACL_FLOAT, {3, 2}, {1, 1, 1, 3, 0, 1}}},
           {"expandedXOut", {ACL_INT8, {4, 2}, {127, -64, 127, 95, 85, -127, 0, 127}}},
           {"expandedScaleOut", {ACL_FLOAT, {4}, {4.f / 127, 8.f / 127, 6.f / 127, 6.f / 127}}}})},
    {kInit, with(kRoutedCodes,
                 {{"quantMode", 13},
                  {"expandedXOut", {ACL_UINT8, {4, 1}, {0xd7, 0x57, 0xd7, 0x57}}},
                  {"expandedScaleOut", {ACL_FLOAT, {4}, {4.f / 7, 8.f / 7, 4.f / 7, 8.f / 7}}}})},
    {kInit,
     {{"quantMode", 0},
      {"scaleOptional", {ACL_FLOAT, {1}, {0.25f}}},
      {"offsetOptional", {ACL_FLOAT, {1}, {1}}},
      {"expandedXOut", {ACL_INT8, {4, 2}, {2, 0, 3, 2, 2, 0, 3, 2}}},
      kNoScales}},
    {kInit,
     {{"activeNum", 1},
      {"expandedXOut", {ACL_FLOAT16, {1, 2}, {4, -2}}},
      {"expandedScaleOut", {ACL_FLOAT, {1}, {0.5f}}}}},
    {kInit,
     {{"dropPadMode", 1},
      {"expertCapacity", 1},
      {"expandedXOut", {ACL_FLOAT16, {3, 1, 2}, {4, -2, 4, -2, 8, 6}}},
      {"expandedRowIdxOut", int32s({1, 0, -1, 2})},
      {"expandedScaleOut", {ACL_FLOAT, {3}, {0.5f, 0.5f, 2}}}}},
    {kInit, {{"expertTokensNumType", 0}, {"expertTokensCountOrCumsumOut", int64s({3}, {2, 3, 4})}}},
    {kInit,
     {{"expertTokensNumType", 2},
      {"expertTokensCountOrCumsumOut", int64s({3, 2}, {0, 2, 1, 1, 2, 1})}}},
    {kInit,
     {{"expertTokensNumFlag", false}, {"expertTokensCountOrCumsumOut", int64s({3}, {0, 0, 0})}}},
    {kInit, {{"rowIdxType", 1}, {"expandedRowIdxOut", int32s({1, 2, 0, 3})}}},
    {kInit,
     {{"expertNum", 2},
      {"expandedXOut", {ACL_FLOAT16, {4, 2}, {4, -2, 8, 6, 4, -2, 0, 0}}},
      {"expandedRowIdxOut", int32s({2, 0, 1, -1})},
      {"expertTokensCountOrCumsumOut", int64s({2}, {2, 1})},
      {"expandedScaleOut", {ACL_FLOAT, {4}, {0.5f, 2, 0.5f, 0}}}}},
    {kInit,
     {{"x", {ACL_FLOAT8_E5M2, {2, 2}, {0x3c, 0xbc, 1, 0x7f}}},
      {"scaleOptional", {ACL_UINT8, {2, 1, 2}, {1, 2, 3, 4}}},
      {"expandedXOut", {ACL_FLOAT8_E5M2, {4, 2}, {0x3c, 0xbc, 1, 0x7f, 0x3c, 0xbc, 1, 0x7f}}},
      {"expandedScaleOut", {ACL_UINT8, {4, 1, 2}, {1, 2, 3, 4, 1, 2, 3, 4}}}}},
};

const Given kRowsOfExperts{ACL_FLOAT16, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}},
    kBiasesOfExperts{ACL_FLOAT16, {2, 2}, {0.5f, 0, 0, 1}},
    kScalesOfRows{ACL_FLOAT16, {2, 2}, {1, 0.5f, 2, 1}},
    kExpertsOfRows{ACL_INT32, {2, 2}, {0, 1, 1, 1}};

const Vector kMoeVectors[] = {
    {kPermute, {{"numOutTokens", 0}, {"permuteTokensOut", {ACL_BF16, {4, 1}, {1, 2, 1, 2}}}}},
    {kPermute, {{"numOutTokens", -3}, {"permuteTokensOut", {ACL_BF16, {1, 1}, {1}}}}},
    {kPermute,
     {{"tokens", {ACL_INT8, {2, 1}, {7, -8}}},
      {"indices", {ACL_INT32, {2}, {3, 0}}},
      {"permuteTokensOut", {ACL_INT8, {2, 1}, {-8, 7}}},
      {"sortedIndicesOut", int32s({1, 0})}}},
    {kUnpermute,
     {{"sortedIndices", {ACL_INT32, {4}, {2, 0, 1, 9}}},
      {"probsOptional", {ACL_FLOAT, {2, 2}, {0.5f, 0.25f, 1, 2}}},
      {"out", {ACL_FLOAT16, {2, 2}, {2.75f, 3.5f, 3, 4}}}}},
    {kUnpermute,
     {{"sortedIndices", {ACL_INT32, {4}, {2, 0, 1, 9}}},
      {"probsOptional", kNull},
      {"out", {ACL_FLOAT16, {4, 2}, {5, 6, 1, 2, 3, 4, 0, 0}}}}},
    {kUnpermute,
     {{"permutedTokens", {ACL_FLOAT, {1, 1}, {3}}},
      {"sortedIndices", {ACL_INT64, {2}, {0, 0}}},
      {"probsOptional", {ACL_BF16, {1, 2}, {1, -0.5f}}},
      {"out", {ACL_FLOAT, {1, 1}, {1.5f}}}}},
    {kFinal, {{"x2Optional", kNull}, {"out", {ACL_FLOAT16, {2, 2}, {15, 26.5f, 43, 59}}}}},
    {kFinalV2,
     {{"expandedX", kRowsOfExperts},
      {"expandedRowIdx", {ACL_INT32, {4}, {0, 2, 3, 1}}},
      {"x1Optional", kNull},
      {"x2Optional", kNull},
      {"scalesOptional", kScalesOfRows},
      {"expertIdxOptional", kNull},
      {"dropPadMode", 2},
      {"out", {ACL_FLOAT16, {2, 2}, {3.5f, 5, 17, 20}}}}},
    {kFinalV2,
     {{"expandedX", {ACL_FLOAT16, {2, 1, 2}, {1, 2, 3, 4}}},
      {"expandedRowIdx", {ACL_INT32, {4}, {0, -1, 1, -1}}},
      {"biasOptional", kBiasesOfExperts},
      {"scalesOptional", kScalesOfRows},
      {"expertIdxOptional", kExpertsOfRows},
      {"dropPadMode", 3},
      {"out", {ACL_FLOAT16, {2, 2}, {21.5f, 42.5f, 66, 91}}}}},
    {kFinalV2,
     {{"expandedX", kRowsOfExperts},
      {"biasOptional", kBiasesOfExperts},
      {"scalesOptional", kNull},
      {"expandedRowIdx", {ACL_INT32, {2}, {3, 0}}},
      {"expertIdxOptional", {ACL_INT32, {2, 1}, {0, 1}}},
      {"out", {ACL_FLOAT16, {2, 2}, {27.5f, 48, 61, 83}}}}},
};

const Refusal kMoeRefusals[] = {
    {kInit, {{"x", {ACL_INT32, {2, 2}}}}, "x has dtype ACL_INT32"},
    {kInit, {{"expertIdx", {ACL_INT64, {2, 2}}}}, "expertIdx has dtype ACL_INT64"},
    {kInit, {{"expertIdx", {ACL_INT32, {1, 2}}}}, "expertIdx has shape (1, 2)", Kind::shape},
    {kInit, {{"scaleOptional", {ACL_FLOAT, {3}}}}, "scaleOptional has shape (3,)", Kind::shape},
    {kInit,
     {{"offsetOptional", {ACL_FLOAT, {1}}}},
     "quantMode is -1, expected 0 with offsetOptional",
     Kind::attribute},
    {kInit, {{"dropPadMode", 1}}, "expertCapacity is 0", Kind::attribute},
    {kInit, {{"expertNum", 0}}, "expertNum is 0", Kind::attribute},
    {kInit, {{"dropPadMode", 2}}, "dropPadMode is 2", Kind::attribute},
    {kInit, {{"expertTokensNumType", 3}}, "expertTokensNumType is 3", Kind::attribute},
    {kInit, {{"quantMode", 2}}, "quantMode is 2", Kind::attribute},
    {kInit, {{"rowIdxType", 2}}, "rowIdxType is 2", Kind::attribute},
    {kInit, {{"expandedXOut", {ACL_BF16, {4, 2}}}}, "expandedXOut has dtype ACL_BF16"},
    {kPermute, {{"indices", {ACL_INT64, {3}}}}, "indices has shape (3,)", Kind::shape},
    {kPermute, {{"paddedMode", true}}, "paddedMode is True", Kind::attribute},
    {kUnpermute, {{"probsOptional", {ACL_FLOAT, {1, 3}}}}, "probsOptional has shape", Kind::shape},
    {kUnpermute, {{"paddedMode", true}}, "paddedMode is True", Kind::attribute},
    {kFinal, {{"x1", {ACL_BF16, {2, 2}}}}, "x1 has dtype ACL_BF16"},
    {kFinal, {{"bias", {ACL_FLOAT16, {2, 3}}}}, "bias has shape (2, 3)", Kind::shape},
    {kFinalV2,
     {{"biasOptional", kBiasesOfExperts}, {"expertIdxOptional", kNull}},
     "expertIdxOptional is NULL",
     Kind::attribute},
    {kFinalV2, {{"dropPadMode", 4}}, "dropPadMode is 4", Kind::attribute},
};

using Moe = OnDevice;

TEST_F(Moe, OfInitRouting) { expect_values(stream, kInitVectors); }
TEST_F(Moe, OfOthers) { expect_values(stream, kMoeVectors); }
TEST_F(Moe, Refusals) { expect_refusals(kMoeRefusals); }

// Elements are there in the second phase only.
TEST_F(Moe, IndicesOfNoRowAreRefusedInTheSecondPhase) {
  for (const char* const name : {kFinal, kFinalV2})
    for (const Function& function : functions_of(name)) {
      const bool is_first = name == kFinal;
      const Call call(function, {{"expandedRowIdx", is_first ? Given{ACL_INT32, {4}, {0, 1, 2, 4}}
                                                             : Given{ACL_INT32, {2}, {0, 2}}}});
      EXPECT_EQ(run(stream, call.phase2(), call), function.attribute_code);
    }
  const Call call(functions_of(kUnpermute)[0], {{"sortedIndices", {ACL_INT32, {2}, {0, -1}}}});
  EXPECT_EQ(run(stream, call.phase2(), call), 561002);
}

// The array may be gone when the executor runs.
TEST_F(Moe, ARangeOfExperts) {
  const Call call(functions_of(kInit)[0],
                  {{"expandedXOut", {ACL_FLOAT16, {4, 2}, {4, -2, 8, 6, 0, 0, 0, 0}}},
                   {"expandedRowIdxOut", int32s({0, -1, -1, 1})},
                   {"expertTokensCountOrCumsumOut", int64s({2}, {1, 1})},
                   {"expandedScaleOut", {ACL_FLOAT, {4}, {0.5f, 2, 0, 0}}}});
  const auto planned = [&](const aclIntArray* range, uint64_t* size, aclOpExecutor** executor) {
    const auto& t = call.tensors;
    return aclnnMoeInitRoutingV3GetWorkspaceSize(
        t[0].get(), t[1].get(), t[2].get(), nullptr, 0, 0, 3, 0, 1, true, -1, range, 0, t[13].get(),
        t[14].get(), t[15].get(), t[16].get(), size, executor);
  };
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const int64_t ends[] = {1, 3};
  aclIntArray* const range = aclCreateIntArray(ends, 2);
  ASSERT_EQ(planned(range, &size, &executor), 0);
  EXPECT_EQ(aclDestroyIntArray(range), 0);
  EXPECT_EQ(aclnnMoeInitRoutingV3(nullptr, size, executor, stream), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  call.expect_results();
  EXPECT_EQ(planned(range, &size, &executor), 161001);
  aclIntArray* const one = aclCreateIntArray(ends, 1);
  EXPECT_EQ(planned(one, &size, &executor), 561002);
  EXPECT_EQ(aclDestroyIntArray(one), 0);
}

TEST_F(Moe, AShapeToRestoreIsRefused) {
  const Call call(functions_of(kUnpermute)[0]);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  aclIntArray* const shape = aclCreateIntArray(nullptr, 0);
  EXPECT_EQ(aclnnMoeTokenUnpermuteGetWorkspaceSize(call.tensors[0].get(), call.tensors[1].get(),
                                                   call.tensors[2].get(), false, shape,
                                                   call.tensors[5].get(), &size, &executor),
            561002);
  EXPECT_EQ(aclDestroyIntArray(shape), 0);
}

}  // namespace
}  // namespace npu_quant::testing
