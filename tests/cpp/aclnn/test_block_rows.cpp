// What each parameter of the functions does that quantize blocks of rows they make first, and what
// their first phases refuse, as test_values.cpp and test_refusals.cpp have it of others.
#include "refusals.h"
#include "values.h"

namespace npu_quant::testing {
namespace {

const char kGluGroup[] = "aclnnSwigluGroupQuant", kDualLevel[] = "aclnnDynamicDualLevelMxQuant";

// Without groups and weights: 640 and -64, 0 and 60.
const Parameters kUngrouped{{"weightOptional", kNull}, {"groupIndexOptional", kNull}};
const Parameters kByPowers{{"quantMode", 1}, {"roundScale", true}};
const Parameters kAllOrigins{{"yOriginOut", {ACL_FLOAT16, {2, 2}, {640, -64, 0, 60}}}};
Parameters of_blocks(const Parameters& how, std::vector<float> y, std::vector<float> scale) {
  const Parameters codes{{"yOut", {ACL_FLOAT8_E4M3FN, {2, 2}, std::move(y)}}};
  const Parameters scales{{"yScaleOut", {ACL_FLOAT, {2, 1}, std::move(scale)}}};
  return with(with(with(kUngrouped, kAllOrigins), how), with(codes, scales));
}
const Vector kGluGroupVectors[] = {
    {kGluGroup, of_blocks({{"blockSize", 128}, {"dstTypeMax", 448.0}}, {0x7e, 0xe3, 0, 0x7e},
                          {640 / 448.f, 60 / 448.f})},
    // 640 * 448 / 640 and 320 are even multiples of their steps, 240 of 16.
    {kGluGroup, of_blocks({{"roundScale", true}}, {0x7a, 0xe0, 0, 0x77}, {2, 0.25f})},
    {kGluGroup, of_blocks({{"groupIndexOptional", {ACL_INT64, {2}, {0, 9}}}}, {0x7e, 0xe3, 0, 0x7e},
                          {640 / 448.f, 60 / 448.f})},
    {kGluGroup,
     of_blocks({{"clampLimit", 20.0}, {"yOriginOut", {ACL_FLOAT16, {2, 2}, {400, -20, 0, 60}}}},
               {0x7e, 0xdb, 0, 0x7e}, {400 / 448.f, 60 / 448.f})},
    // What is not asked for is not written, be it there or not.
    {kGluGroup, of_blocks({{"outputOrigin", false}, {"yOriginOut", kNull}}, {0x7e, 0xe3, 0, 0x7e},
                          {640 / 448.f, 60 / 448.f})},
    {kGluGroup,
     with(with(kUngrouped, kAllOrigins),
          with(kByPowers, {{"blockSize", 32},
                           {"yOut", {ACL_FLOAT8_E4M3FN, {2, 2}, {0x7a, 0xe0, 0, 0x77}}},
                           {"yScaleOut", {ACL_FLOAT8_E8M0, {2, 1, 2}, {128, 0, 125, 0}}}}))},
    // 60 * 2^9 is a tie between 28672 and 32768.
    {kGluGroup, with(with(kUngrouped, kAllOrigins),
                     {{"roundScale", true},
                      {"yOut", {ACL_FLOAT8_E5M2, {2, 2}, {0x79, 0xec, 0, 0x78}}},
                      {"yScaleOut", {ACL_FLOAT, {2, 1}, {0x1p-6f, 0x1p-9f}}}})},
    {kGluGroup,
     {{"x", {ACL_BF16, {1, 2}, {32, -2}}},
      {"weightOptional", {ACL_FLOAT, {1, 1}, {0.5f}}},
      {"yOut", {ACL_FLOAT8_E4M3FN, {1, 1}, {0xfe}}},
      {"yScaleOut", {ACL_FLOAT, {1, 1}, {32 / 448.f}}},
      {"yOriginOut", {ACL_BF16, {1, 1}, {-32}}}}},
};

const Refusal kGluGroupRows[] = {
    {kGluGroup, {{"x", {ACL_FLOAT, {2, 4}}}}, "x has dtype ACL_FLOAT"},
    {kGluGroup, {{"x", {ACL_FLOAT16, {2, 3}}}}, "x has shape (2, 3)"},
    {kGluGroup, {{"x", {ACL_FLOAT16, {4}}}}, "x has 1 dimension"},
    {kGluGroup, with(kByPowers, {{"x", {ACL_FLOAT16, {1, 1, 1, 1, 1, 1, 2, 4}}}}),
     "x has 8 dimensions"},
    {kGluGroup, {{"weightOptional", {ACL_FLOAT16, {2}}}}, "weightOptional has dtype"},
    {kGluGroup, {{"weightOptional", {ACL_FLOAT, {3}}}}, "weightOptional has shape"},
    {kGluGroup, {{"groupIndexOptional", {ACL_INT32, {1}}}}, "groupIndexOptional has dtype"},
    {kGluGroup, {{"groupIndexOptional", {ACL_INT64, {1, 1}}}}, "groupIndexOptional has 2"},
    {kGluGroup, {{"scaleOptional", {ACL_FLOAT, {1}}}}, "scaleOptional is given"},
    {kGluGroup, {{"quantMode", 2}}, "quantMode is 2"},
    {kGluGroup, {{"blockSize", 32}}, "blockSize is 32, expected 0 or 128 with quantMode 0."},
    {kGluGroup, {{"quantMode", 1}, {"yScaleOut", {ACL_FLOAT8_E8M0, {2, 1, 2}}}}, "roundScale is"},
    {kGluGroup, {{"clampLimit", NAN}}, "clampLimit is nan"},
    {kGluGroup, {{"dstTypeMax", NAN}}, "dstTypeMax is nan"},
    {kGluGroup, {{"dstType", ACL_FLOAT8_E5M2}}, "dstType is ACL_FLOAT8_E5M2, but the output has"},
    {kGluGroup, {{"yOut", {ACL_INT8, {2, 2}}}}, "available: ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN"},
    {kGluGroup, {{"yOut", {ACL_FLOAT8_E4M3FN, {2, 4}}}}, "yOut has shape"},
    {kGluGroup, {{"yScaleOut", {ACL_FLOAT8_E8M0, {2, 1}}}}, "yScaleOut has dtype"},
    {kGluGroup, kByPowers, "yScaleOut has dtype ACL_FLOAT, expected ACL_FLOAT8_E8M0"},
    {kGluGroup, {{"yScaleOut", {ACL_FLOAT, {2}}}}, "yScaleOut has"},
    {kGluGroup, {{"yOriginOut", {ACL_FLOAT16, {2, 4}}}}, "yOriginOut has shape"},
};

const Vector kDualLevelVectors[] = {
    // The rint of functions.cpp, and -2.5 and -0.09 by the others.
    {kDualLevel,
     {{"roundModeOptional", "round"},
      {"x", {ACL_BF16, {4}, {96, -40, -1.5f, 48}}},
      {"yOut", {ACL_FLOAT4_E2M1, {4}, {0xd7, 0x58}}},
      {"level0ScaleOut", {ACL_FLOAT, {1}, {16}}},
      {"level1ScaleOut", {ACL_FLOAT8_E8M0, {1, 2}, {127, 0}}}}},
    {kDualLevel,
     {{"roundModeOptional", "floor"},
      {"x", {ACL_FLOAT16, {1, 4}, {96, -40, -1.5f, 48}}},
      {"yOut", {ACL_FLOAT4_E2M1, {1, 4}, {0xd7, 0x59}}}}},
    {kDualLevel, {{"roundModeOptional", nullptr}}},
};

const Refusal kDualLevelRows[] = {
    {kDualLevel, {{"x", {ACL_FLOAT, {1, 4}}}}, "x has dtype ACL_FLOAT"},
    {kDualLevel, {{"x", {ACL_FLOAT16, {}}}}, "x has 0 dimensions"},
    {kDualLevel, {{"smoothScaleOptional", {ACL_FLOAT16, {4}}}}, "smoothScaleOptional is given"},
    {kDualLevel, {{"roundModeOptional", "ceil"}}, "roundModeOptional is 'ceil'"},
    {kDualLevel, {{"level0BlockSize", 256}}, "level0BlockSize is 256, expected 512."},
    {kDualLevel, {{"level1BlockSize", 0}}, "level1BlockSize is 0, expected 32."},
    {kDualLevel, {{"yOut", {ACL_FLOAT4_E1M2, {1, 4}}}}, "available: ACL_FLOAT4_E2M1"},
    {kDualLevel, {{"yOut", {ACL_FLOAT4_E2M1, {1, 2}}}}, "yOut has shape"},
    {kDualLevel, {{"level0ScaleOut", {ACL_FLOAT16, {1, 1}}}}, "level0ScaleOut has dtype"},
    {kDualLevel, {{"level0ScaleOut", {ACL_FLOAT, {1, 2}}}}, "level0ScaleOut has shape"},
    {kDualLevel, {{"level1ScaleOut", {ACL_UINT8, {1, 1, 2}}}}, "level1ScaleOut has dtype"},
    {kDualLevel, {{"level1ScaleOut", {ACL_FLOAT8_E8M0, {1, 2}}}}, "level1ScaleOut has"},
};

TEST_F(Values, OfBlocksOfGatedLinearUnits) { expect_values(stream, kGluGroupVectors); }
TEST_F(Refusals, OfBlocksOfGatedLinearUnits) { expect_refusals(kGluGroupRows); }
TEST_F(Values, OfTwoLevelsOfScales) { expect_values(stream, kDualLevelVectors); }
TEST_F(Refusals, OfTwoLevelsOfScales) { expect_refusals(kDualLevelRows); }

}  // namespace
}  // namespace npu_quant::testing
