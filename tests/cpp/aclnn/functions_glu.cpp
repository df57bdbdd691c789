// The functions of gated linear units. From 17.33 on 1 + exp(-a) is 1, and a / (1 + exp(-a)) is a.
#include "aclnnop/aclnn_dequant_swiglu_quant.h"
#include "aclnnop/aclnn_dequant_swiglu_quant_v2.h"
#include "aclnnop/aclnn_swi_glu.h"
#include "aclnnop/aclnn_swi_glu_quant.h"
#include "aclnnop/aclnn_swi_glu_quant_v2.h"
#include "aclnnop/aclnn_swiglu_group_quant.h"
#include "phases.h"

namespace npu_quant::testing {
namespace {

// a * b is 640 and -64, then 0 and 60.
const Given kHalves{ACL_FLOAT16, {2, 4}, {32, 64, 20, -1, 0, 20, 5, 3}};

std::vector<Function> swiglu_quant() {
  const Parameters arrays{{"x", kHalves},
                          {"smoothScalesOptional", {ACL_FLOAT, {1, 2}, {0.5f, 4}}, kOptional},
                          {"offsetsOptional", kNull, kOptional},
                          {"groupIndexOptional", {ACL_INT32, {1}, {1}}, kOptional},
                          {"activateLeft", true},
                          {"quantModeOptional", "dynamic"}};
  // Row 1 is behind the group: row 0 is 320 and -256.
  const Parameters results{{"yOut", {ACL_INT8, {2, 2}, {127, -102, 0, 127}}},
                           {"scaleOut", {ACL_FLOAT, {2}, {127 / 320.f, 127 / 60.f}}}};
  return {{"aclnnSwiGluQuant", 1, of(aclnnSwiGluQuantGetWorkspaceSize), aclnnSwiGluQuant,
           arrays + results},
          {"aclnnSwiGluQuant", 2, of(aclnnSwiGluQuantV2GetWorkspaceSize), aclnnSwiGluQuantV2,
           arrays + Parameters{{"groupListType", 0}, {"dstType", kThatOfY}} + results}};
}

// Row 0 is halved: 320 and -32, of which 448 / 320 makes 448 and -44.8. Row 1 is behind the group.
std::vector<Function> swiglu_group_quant() {
  return {{"aclnnSwigluGroupQuant",
           1,
           of(aclnnSwigluGroupQuantGetWorkspaceSize),
           aclnnSwigluGroupQuant,
           {{"x", kHalves},
            {"weightOptional", {ACL_FLOAT, {2}, {0.5f, 2}}, kOptional},
            {"groupIndexOptional", {ACL_INT64, {1}, {1}}, kOptional},
            {"scaleOptional", kNull, kOptional},
            {"dstType", kThatOfY},
            {"quantMode", 0},
            {"blockSize", 0},
            {"roundScale", false},
            {"clampLimit", -1.0},
            {"dstTypeMax", 15.0},
            {"outputOrigin", true},
            {"yOut", {ACL_FLOAT8_E4M3FN, {2, 2}, {0x7e, 0xe3, 0, 0}}},
            {"yScaleOut", {ACL_FLOAT, {2, 1}, {320 / 448.f, 0}}},
            {"yOriginOut", {ACL_FLOAT16, {2, 2}, {320, -32, 0, 0}}}}}};
}

std::vector<Function> dequant_swiglu_quant() {
  const Parameters arrays{{"x", kHalves},
                          {"weightScaleOptional", kNull, kOptional},
                          {"activationScaleOptional", kNull, kOptional},
                          {"biasOptional", kNull, kOptional},
                          {"quantScaleOptional", {ACL_FLOAT, {2}, {0.5f, 4}}, kOptional},
                          {"quantOffsetOptional", {ACL_FLOAT, {1, 2}, {1, -1}}, kOptional},
                          {"groupIndexOptional", {ACL_INT64, {1}, {2}}, kOptional},
                          {"activateLeft", true},
                          {"quantModeOptional", "static"}};
  const Parameters attributes{{"dstType", kThatOfY}, {"roundModeOptional", "rint"},
                              {"activateDim", -1},   {"swigluMode", 0},
                              {"clampLimit", 7.0},   {"gluAlpha", 1.0},
                              {"gluBias", 1.0}};
  const Parameters results{{"yOut", {ACL_INT8, {2, 2}, {127, -17, 1, 14}}},
                           {"scaleOut", {ACL_FLOAT, {2}, {0, 0}}}};
  return {{"aclnnDequantSwigluQuant", 1, of(aclnnDequantSwigluQuantGetWorkspaceSize),
           aclnnDequantSwigluQuant, arrays + results},
          {"aclnnDequantSwigluQuant", 2, of(aclnnDequantSwigluQuantV2GetWorkspaceSize),
           aclnnDequantSwigluQuantV2, arrays + attributes + results}};
}

}  // namespace

std::vector<Function> gated_linear_units() {
  std::vector<Function> all{
      {"aclnnSwiGlu",
       1,
       of(aclnnSwiGluGetWorkspaceSize),
       aclnnSwiGlu,
       {{"x", kHalves}, {"dim", -1}, {"out", {ACL_FLOAT16, {2, 2}, {640, -64, 0, 60}}}}}};
  for (const auto& family : {swiglu_quant(), swiglu_group_quant(), dequant_swiglu_quant()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace npu_quant::testing
