// What each parameter of gated linear units does, and what their first phases refuse, as
// test_values.cpp and test_refusals.cpp have it of other functions.
#include "refusals.h"
#include "values.h"

namespace npu_quant::testing {
namespace {

const char kGlu[] = "aclnnSwiGlu", kGluQuant[] = "aclnnSwiGluQuant";
const char kGluQuantV2[] = "aclnnSwiGluQuantV2", kDequantGlu[] = "aclnnDequantSwigluQuant";
const char kDequantGluV2[] = "aclnnDequantSwigluQuantV2";

const testing::Parameter kOffsets{"offsetsOptional", {ACL_FLOAT, {1, 2}}};
const Parameters kDynamic{{"smoothScalesOptional", kNull}};

// The integers are twice the x of functions_glu.cpp, but 40 + 2 for 40 and 10 + 2 for 10; row 1
// counts twice. Their units are 672 and -64, 0 and 240.
const Parameters kIntegers{{"x", {ACL_INT32, {2, 4}, {64, 128, 40, -2, 0, 40, 10, 6}}},
                           {"weightScaleOptional", {ACL_FLOAT, {1, 4}, {0.5f, 0.5f, 0.5f, 0.5f}}},
                           {"activationScaleOptional", {ACL_FLOAT, {2}, {1, 2}}},
                           {"biasOptional", {ACL_INT32, {1, 4}, {0, 0, 2, 0}}}};
const Parameters kDynamicIntegers = with(kIntegers, {{"quantModeOptional", "dynamic"},
                                                     {"quantOffsetOptional", kNull},
                                                     {"quantScaleOptional", kNull}});

const Vector kGluVectors[] = {
    {kGlu, {{"dim", 0}, {"out", {ACL_FLOAT16, {1, 4}, {0, 1280, 100, -0.806640625f}}}}},
    {kGlu, {{"x", {ACL_FLOAT, {4}, {20, 30, 2, -0.5f}}}, {"out", {ACL_FLOAT, {2}, {40, -15}}}}},
    {kGluQuant, with(kDynamic, {{"yOut", {ACL_INT8, {2, 2}, {127, -13, 0, 127}}},
                                {"scaleOut", {ACL_FLOAT, {2}, {127.f / 640, 127.f / 60}}}})},
    {kGluQuant, with(kDynamic, {{"yOut", {ACL_INT4, {2, 2}, {0xf7, 0x70}}},
                                {"scaleOut", {ACL_FLOAT, {2}, {7.f / 640, 7.f / 60}}}})},
    {kGluQuant,
     {{"quantModeOptional", "static"},
      {"offsetsOptional", {ACL_FLOAT, {1, 2}, {1, -1}}},
      {"yOut", {ACL_INT8, {2, 2}, {127, -128, 0, 60}}},
      {"scaleOut", {ACL_FLOAT, {2}, {0, 0}}}}},
    {kGluQuant,
     {{"x", {ACL_BF16, {1, 2}, {-2, 32}}},
      {"activateLeft", false},
      {"quantModeOptional", nullptr},
      {"groupIndexOptional", kNull},
      {"smoothScalesOptional", {ACL_FLOAT, {1}, {2}}},
      {"offsetsOptional", {ACL_FLOAT, {1}, {1}}},
      {"yOut", {ACL_INT8, {1, 1}, {-127}}},
      {"scaleOut", {ACL_FLOAT, {1}, {0}}}}},
    {kGluQuantV2,
     {{"groupIndexOptional", {ACL_INT32, {2}, {1, 1}}},
      {"groupListType", 1},
      {"quantModeOptional", "static"},
      {"smoothScalesOptional", {ACL_FLOAT, {2}, {0.125f, 2}}},
      {"offsetsOptional", {ACL_FLOAT, {2}, {1, -1}}},
      {"yOut", {ACL_INT8, {2, 2}, {81, -7, -1, 119}}},
      {"scaleOut", {ACL_FLOAT, {2}, {0, 0}}}}},
    {kDequantGlu, with(kIntegers, {{"yOut", {ACL_INT8, {2, 2}, {127, -17, 1, 59}}}})},
    {kDequantGlu, with(kIntegers, {{"biasOptional", {ACL_FLOAT, {4}, {0, 0, 1, 0}}},
                                   {"activationScaleOptional", kNull},
                                   {"groupIndexOptional", {ACL_INT64, {1}, {1}}},
                                   {"yOut", {ACL_INT8, {2, 2}, {127, -17, 0, 0}}}})},
    {kDequantGlu,
     with(kDynamicIntegers, {{"yOut", {ACL_FLOAT8_E4M3FN, {2, 2}, {0x7e, 0xe3, 0, 0x7e}}},
                             {"scaleOut", {ACL_FLOAT, {2}, {1.5f, 240 / 448.f}}}})},
    {kDequantGlu,
     {{"x", {ACL_FLOAT16, {1, 2}, {-2, 32}}},
      {"activateLeft", false},
      {"groupIndexOptional", kNull},
      {"quantModeOptional", nullptr},
      {"quantScaleOptional", {ACL_FLOAT, {1}, {2}}},
      {"quantOffsetOptional", kNull},
      {"yOut", {ACL_INT8, {1, 1}, {-32}}},
      {"scaleOut", {ACL_FLOAT, {1}, {0}}}}},
    // The gate is clamped to 20, the other half, 20 and -1, 12 and 6, is 1 more.
    {kDequantGluV2, with(kIntegers, {{"swigluMode", 2},
                                     {"clampLimit", 20.0},
                                     {"quantScaleOptional", {ACL_FLOAT, {1}, {10}}},
                                     {"quantOffsetOptional", kNull},
                                     {"yOut", {ACL_INT8, {2, 2}, {42, 0, 0, 14}}}})},
    // Even elements are the gate: 20 and 20, then 0 and 12; odd ones 20 and -1, then 20 and 6.
    {kDequantGluV2, with(kIntegers, {{"swigluMode", 1},
                                     {"clampLimit", 20.0},
                                     {"gluBias", 0.5},
                                     {"gluAlpha", 2.0},
                                     {"quantScaleOptional", {ACL_FLOAT, {1}, {10}}},
                                     {"quantOffsetOptional", kNull},
                                     {"yOut", {ACL_INT8, {2, 2}, {41, -1, 0, 8}}}})},
    // 672 / 112 is 6, -64 / 112 lies between -0.5 and -1.
    {kDequantGluV2, with(kDynamicIntegers, {{"roundModeOptional", "floor"},
                                            {"activateDim", 1},
                                            {"yOut", {ACL_FLOAT4_E2M1, {2, 2}, {0xa7, 0x70}}},
                                            {"scaleOut", {ACL_FLOAT, {2}, {112, 40}}}})},
    {kDequantGluV2, with(kDynamicIntegers, {{"roundModeOptional", "trunc"},
                                            {"yOut", {ACL_FLOAT4_E2M1, {2, 2}, {0x97, 0x70}}},
                                            {"scaleOut", {ACL_FLOAT, {2}, {112, 40}}}})},
};

const Refusal kGluRows[] = {
    {kGlu, {{"x", {ACL_INT8, {2, 4}}}}, "x has dtype ACL_INT8"},
    {kGlu, {{"x", {ACL_FLOAT16, {2, 3}}}}, "x has shape (2, 3)"},
    {kGlu, {{"x", {ACL_FLOAT16, {}}}}, "x has 0 dimensions"},
    {kGlu, {{"dim", 2}}, "dim is 2"},
    {kGlu, {{"out", {ACL_FLOAT, {2, 2}}}}, "out has dtype ACL_FLOAT"},
    {kGlu, {{"out", {ACL_FLOAT16, {2, 4}}}}, "out has shape"},
    {kGluQuant, {{"x", {ACL_INT32, {2, 4}}}}, "x has dtype ACL_INT32"},
    {kGluQuant, {{"x", {ACL_FLOAT16, {4}}}}, "x has 1 dimension"},
    {kGluQuant, {{"x", {ACL_FLOAT16, {1, 8194}}}}, "x has shape (1, 8194)"},
    {kGluQuant, {{"smoothScalesOptional", {ACL_FLOAT16, {1, 2}}}}, "smoothScalesOptional"},
    {kGluQuant, {{"smoothScalesOptional", {ACL_FLOAT, {2, 2}}}}, "smoothScalesOptional has shape"},
    {kGluQuant, {{"quantModeOptional", "static"}}, "offsetsOptional is NULL"},
    {kGluQuant,
     {{"quantModeOptional", "static"}, kOffsets, {"smoothScalesOptional", kNull}},
     "smoothScalesOptional is NULL"},
    {kGluQuant,
     {{"quantModeOptional", "static"}, {"offsetsOptional", {ACL_FLOAT, {2}}}},
     "offsetsOptional has shape"},
    {kGluQuant, {kOffsets}, "offsetsOptional is given"},
    {kGluQuant, {{"quantModeOptional", "dynamic_msd"}}, "quantModeOptional is 'dynamic_msd'"},
    {kGluQuant, {{"groupIndexOptional", {ACL_INT64, {1}}}}, "groupIndexOptional has dtype"},
    {kGluQuant, {{"groupIndexOptional", {ACL_INT32, {1, 1}}}}, "groupIndexOptional has 2"},
    {kGluQuant, {{"yOut", {ACL_FLOAT8_E5M2, {2, 2}}}}, "available: ACL_INT8, ACL_INT4"},
    {kGluQuant, {{"yOut", {ACL_INT8, {2, 4}}}}, "yOut has shape"},
    {kGluQuant, {{"scaleOut", {ACL_FLOAT, {2, 1}}}}, "scaleOut has"},
    {kGluQuantV2, {{"groupListType", 2}}, "groupListType is 2"},
    {kGluQuantV2, {{"dstType", ACL_INT4}}, "dstType is ACL_INT4, but the output has dtype"},
    {kDequantGlu, {{"x", {ACL_FLOAT, {2, 4}}}}, "x has dtype ACL_FLOAT"},
    {kDequantGlu, {{"x", {ACL_INT32, {2, 4}}}}, "weightScaleOptional is NULL"},
    {kDequantGlu, {{"weightScaleOptional", {ACL_FLOAT, {4}}}}, "weightScaleOptional is given"},
    {kDequantGlu, with(kIntegers, {{"weightScaleOptional", {ACL_FLOAT, {1, 2}}}}),
     "weightScaleOptional has shape"},
    {kDequantGlu, with(kIntegers, {{"activationScaleOptional", {ACL_FLOAT, {3}}}}),
     "activationScaleOptional has shape"},
    {kDequantGlu, {{"biasOptional", {ACL_INT8, {1, 4}}}}, "biasOptional has dtype ACL_INT8"},
    {kDequantGlu, with(kIntegers, {{"biasOptional", {ACL_INT32, {2, 4}}}}), "biasOptional has"},
    {kDequantGlu, {{"quantScaleOptional", {ACL_FLOAT, {3}}}}, "quantScaleOptional has shape"},
    {kDequantGlu, {{"quantModeOptional", "dynamic"}}, "quantOffsetOptional is given"},
    {kDequantGlu, {{"groupIndexOptional", {ACL_INT32, {1}}}}, "groupIndexOptional has dtype"},
    {kDequantGlu, {{"yOut", {ACL_INT4, {2, 2}}}}, "yOut has dtype ACL_INT4"},
    {kDequantGluV2, {{"roundModeOptional", "up"}}, "roundModeOptional is 'up'"},
    {kDequantGluV2, {{"roundModeOptional", "floor"}}, "roundModeOptional is 2"},
    {kDequantGluV2, {{"activateDim", 0}}, "activateDim is 0"},
    {kDequantGluV2, {{"swigluMode", 3}}, "swigluMode is 3"},
    {kDequantGluV2, {{"clampLimit", 0.0}}, "clampLimit is 0"},
    {kDequantGluV2, {{"gluAlpha", HUGE_VAL}}, "gluAlpha is inf"},
    {kDequantGluV2, {{"gluBias", 1e39}}, "gluBias is 1e+39"},
};

TEST_F(Values, OfGatedLinearUnits) { expect_values(stream, kGluVectors); }
TEST_F(Refusals, OfGatedLinearUnits) { expect_refusals(kGluRows); }

}  // namespace
}  // namespace npu_quant::testing
