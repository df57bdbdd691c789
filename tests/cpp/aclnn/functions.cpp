#include "functions.h"

#include "../reference.h"
#include "aclnnop/aclnn_add_rms_norm.h"
#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "aclnnop/aclnn_add_rms_norm_quant_v2.h"
#include "aclnnop/aclnn_anti_mx_quant.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"
#include "aclnnop/aclnn_convert_weight_to_int4_pack.h"
#include "aclnnop/aclnn_dequant_bias.h"
#include "aclnnop/aclnn_dynamic_block_quant.h"
#include "aclnnop/aclnn_dynamic_block_quant_v2.h"
#include "aclnnop/aclnn_dynamic_dual_level_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v2.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v3.h"
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis.h"
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis_v2.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_dynamic_quant_v2.h"
#include "aclnnop/aclnn_dynamic_quant_v3.h"
#include "aclnnop/aclnn_dynamic_quant_v4.h"
#include "aclnnop/aclnn_fake_quant_per_channel_affine_cachemask.h"
#include "aclnnop/aclnn_fake_quant_per_tensor_affine_cachemask.h"
#include "aclnnop/aclnn_group_quant.h"
#include "aclnnop/aclnn_quant_scatter.h"
#include "aclnnop/aclnn_quant_scatter_v2.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_trans_quant_param_v2.h"
#include "aclnnop/aclnn_trans_quant_param_v3.h"
#include "phases.h"

namespace npu_quant::testing {
namespace {

std::vector<Function> fake_quant() {
  const Parameters range{{"quantMin", -128}, {"quantMax", 127}};
  const Parameters tensor{{"self", {ACL_FLOAT, {2, 3}, {0.5f, 1.5f, 2.5f, -0.5f, -130, 200}}},
                          {"scale", {ACL_FLOAT, {1}}},
                          {"zeroPoint", {ACL_INT32, {1}}},
                          {"fakeQuantEnabled", 1.0}};
  // The zero point is added after rounding; -129 and 201 are out of range.
  const Parameters tensors_results{{"out", {ACL_FLOAT, {2, 3}, {0, 2, 2, 0, -129, 126}}},
                                   {"mask", {ACL_BOOL, {2, 3}, {1, 1, 1, 1, 0, 0}}}};
  const Parameters channels{{"self", {ACL_FLOAT, {2, 3}, {1.25f, 1.5f, 5, -9, -20, 100}}},
                            {"scale", {ACL_FLOAT, {3}, {0.5f, 1, 2}}},
                            {"zeroPoint", {ACL_INT32, {3}, {0, 1, -1}}},
                            {"axis", 1},
                            {"quantMin", -8},
                            {"quantMax", 7},
                            {"out", {ACL_FLOAT, {2, 3}, {1, 2, 4, -4, -9, 16}}},
                            {"mask", {ACL_BOOL, {2, 3}, {1, 1, 1, 0, 0, 0}}}};
  return {{"aclnnFakeQuantPerTensorAffineCachemask", 1,
           of(aclnnFakeQuantPerTensorAffineCachemaskGetWorkspaceSize),
           aclnnFakeQuantPerTensorAffineCachemask, tensor + range + tensors_results},
          {"aclnnFakeQuantPerChannelAffineCachemask", 1,
           of(aclnnFakeQuantPerChannelAffineCachemaskGetWorkspaceSize),
           aclnnFakeQuantPerChannelAffineCachemask, channels}};
}

std::vector<Function> dynamic_quant() {
  const Parameters inputs{{"x", {ACL_FLOAT16, {2, 4}, {0, 1, -2, 4, 3, -1.5f, 0.75f, -3}}},
                          {"smoothScalesOptional", {ACL_FLOAT16, {4}}, kOptional}};
  const Parameters groups{{"groupIndexOptional", kNull, kOptional}, {"dstType", kThatOfY}};
  const Parameters modes{{"isSymmetrical", true}, {"quantMode", "pertoken"}};
  const Parameters results{{"yOut", {ACL_INT8, {2, 4}, {0, 32, -64, 127, 127, -64, 32, -127}}},
                           {"scaleOut", {ACL_FLOAT, {2}, {4 / 127.0f, 3 / 127.0f}}}};
  const Parameters offset{{"offsetOut", kNull, kOptional}};
  const char* const family = "aclnnDynamicQuant";
  return {{family, 1, of(aclnnDynamicQuantGetWorkspaceSize), aclnnDynamicQuant, inputs + results},
          {family, 2, of(aclnnDynamicQuantV2GetWorkspaceSize), aclnnDynamicQuantV2,
           inputs + groups + results + offset},
          {family, 3, of(aclnnDynamicQuantV3GetWorkspaceSize), aclnnDynamicQuantV3,
           inputs + groups + modes + results + offset},
          {family, 4, of(aclnnDynamicQuantV4GetWorkspaceSize), aclnnDynamicQuantV4,
           inputs + groups + modes + Parameters{{"dstTypeMax", 0.0}} + results + offset}};
}

std::vector<Function> dynamic_block_quant() {
  const Parameters inputs{{"x", {ACL_FLOAT16, {2, 4}, {0, 1, -2, 4, 3, -1.5f, 0.75f, -3}}},
                          {"minScale", 0.0},
                          {"roundModeOptional", "rint"},
                          {"dstType", kThatOfY},
                          {"rowBlockSize", 1},
                          {"colBlockSize", 128}};
  const Parameters results{{"yOut", {ACL_INT8, {2, 4}, {0, 32, -64, 127, 127, -64, 32, -127}}},
                           {"scaleOut", {ACL_FLOAT, {2, 1}, {4 / 127.0f, 3 / 127.0f}}}};
  const char* const family = "aclnnDynamicBlockQuant";
  return {{family, 1, of(aclnnDynamicBlockQuantGetWorkspaceSize), aclnnDynamicBlockQuant,
           inputs + results, 161002, 561002},
          {family, 2, of(aclnnDynamicBlockQuantV2GetWorkspaceSize), aclnnDynamicBlockQuantV2,
           inputs + Parameters{{"dstTypeMax", 0.0}} + results, 161002, 561002}};
}

// 512 becomes 2^8, the code 0x78: its scale is 2, the byte 128. A byte of each pair is left, 0.
std::vector<Function> dynamic_mx_quant() {
  const Parameters inputs{{"x", {ACL_FLOAT16, {1, 4}, {0, 8, 64, 512}}},
                          {"axis", -1},
                          {"roundModeOptional", "rint"},
                          {"dstType", kThatOfY},
                          {"blocksize", 32},
                          {"scaleAlg", 0}};
  const Parameters results{{"yOut", {ACL_FLOAT8_E4M3FN, {1, 4}, {0x00, 0x48, 0x60, 0x78}}},
                           {"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 1, 2}, {128, 0}}}};
  const Parameters second = inputs + Parameters{{"dstTypeMax", 0.0}};
  const char* const family = "aclnnDynamicMxQuant";
  return {
      {family, 1, of(aclnnDynamicMxQuantGetWorkspaceSize), aclnnDynamicMxQuant, inputs + results},
      {family, 2, of(aclnnDynamicMxQuantV2GetWorkspaceSize), aclnnDynamicMxQuantV2,
       second + results},
      {family, 3, of(aclnnDynamicMxQuantV3GetWorkspaceSize), aclnnDynamicMxQuantV3,
       second + Parameters{{"maxLowBound", 0.0}} + results}};
}

// 96 / 6 is 16, over which the numbers are 6, -2.5, 0.09 and 3: the byte of 6 is 127.
std::vector<Function> dynamic_dual_level_mx_quant() {
  return {{"aclnnDynamicDualLevelMxQuant",
           1,
           of(aclnnDynamicDualLevelMxQuantGetWorkspaceSize),
           aclnnDynamicDualLevelMxQuant,
           {{"x", {ACL_FLOAT16, {1, 4}, {96, -40, 1.5f, 48}}},
            {"smoothScaleOptional", kNull, kOptional},
            {"roundModeOptional", "rint"},
            {"level0BlockSize", 512},
            {"level1BlockSize", 32},
            {"yOut", {ACL_FLOAT4_E2M1, {1, 4}, {0xc7, 0x50}}},
            {"level0ScaleOut", {ACL_FLOAT, {1, 1}, {16}}},
            {"level1ScaleOut", {ACL_FLOAT8_E8M0, {1, 1, 2}, {127, 0}}}}}};
}

// Powers of two: 4 and 8 are the greatest of the rows, 1 8 4 0 those of the columns. What the
// greatest becomes is 2^8, the code 0x78; half of it is 8 codes less.
std::vector<Function> dynamic_mx_quant_with_dual_axis() {
  const Parameters inputs{{"x", {ACL_FLOAT16, {2, 4}, {1, -2, 4, 0, 1, 8, -0.5f, 0}}},
                          {"roundModeOptional", "rint"},
                          {"dstType", kThatOfY},
                          {"scaleAlg", 0}};
  const Parameters results{
      {"y1Out", {ACL_FLOAT8_E4M3FN, {2, 4}, {0x68, 0xf0, 0x78, 0x00, 0x60, 0x78, 0xd8, 0x00}}},
      {"mxscale1Out", {ACL_FLOAT8_E8M0, {2, 1, 2}, {121, 0, 122, 0}}},
      {"y2Out", {ACL_FLOAT8_E4M3FN, {2, 4}, {0x78, 0xe8, 0x78, 0x00, 0x78, 0x78, 0xe0, 0x00}}},
      {"mxscale2Out", {ACL_FLOAT8_E8M0, {1, 4, 2}, {119, 0, 122, 0, 121, 0, 0, 0}}}};
  const char* const family = "aclnnDynamicMxQuantWithDualAxis";
  return {{family, 1, of(aclnnDynamicMxQuantWithDualAxisGetWorkspaceSize),
           aclnnDynamicMxQuantWithDualAxis, inputs + results},
          {family, 2, of(aclnnDynamicMxQuantWithDualAxisV2GetWorkspaceSize),
           aclnnDynamicMxQuantWithDualAxisV2, inputs + Parameters{{"dstTypeMax", 0.0}} + results}};
}

// The sums are 2 -2 2 -2 and 4 0 0 0, their roots of mean squares 2.
std::vector<Function> add_rms_norm() {
  const Given sum{ACL_FLOAT16, {2, 4}, {2, -2, 2, -2, 4, 0, 0, 0}};
  const Parameters terms{{"x1", {ACL_FLOAT16, {2, 4}, {1, -1, 3, 0, 3, 1, 2, 0}}},
                         {"x2", {ACL_FLOAT16, {2, 4}, {1, -1, -1, -2, 1, -1, -2, 0}}}};
  const Parameters by{{"gamma", {ACL_FLOAT16, {4}, {1, 2, 3, 4}}}, {"epsilon", 0.0}};
  const Parameters y{{"yOut", {ACL_FLOAT16, {2, 4}, {1, -2, 3, -4, 2, 0, 0, 0}}}};
  const Given rstd{ACL_FLOAT, {2, 1}, {0.5f, 0.5f}};
  return {{"aclnnRmsNorm", 1, of(aclnnRmsNormGetWorkspaceSize), aclnnRmsNorm,
           Parameters{{"x", sum}} + by + y + Parameters{{"rstdOut", rstd}}, 561002},
          {"aclnnAddRmsNorm", 1, of(aclnnAddRmsNormGetWorkspaceSize), aclnnAddRmsNorm,
           terms + by + y + Parameters{{"rstdOut", rstd, kOptional}, {"xOut", sum, kOptional}}}};
}

// Likewise.
std::vector<Function> add_rms_norm_quant() {
  const Parameters inputs{{"x1", {ACL_FLOAT16, {2, 4}, {1, -1, 3, 0, 3, 1, 2, 0}}},
                          {"x2", {ACL_FLOAT16, {2, 4}, {1, -1, -1, -2, 1, -1, -2, 0}}},
                          {"gamma", {ACL_FLOAT16, {4}, {1, 2, 3, 4}}},
                          {"scales1", {ACL_FLOAT, {4}, {1, 0.5f, 2, 1}}},
                          {"scales2Optional", {ACL_FLOAT, {4}, {0.5f, 0.5f, 0.25f, 8}}, kOptional},
                          {"zeroPoints1Optional", {ACL_INT32, {4}, {1, 1, 1, 1}}, kOptional},
                          {"zeroPoints2Optional", {ACL_INT32, {4}, {1, 2, 3, 4}}, kOptional}};
  const Parameters beta{{"betaOptional", {ACL_FLOAT16, {4}, {0, 0, 0, 0}}, kOptional}};
  const Parameters attributes{{"axis", -1}, {"epsilon", 0.0}, {"divMode", true}};
  const Parameters codes{{"y1Out", {ACL_INT8, {2, 4}, {2, -3, 2, -3, 3, 1, 1, 1}}},
                         {"y2Out", {ACL_INT8, {2, 4}, {3, -2, 15, 4, 5, 2, 3, 4}}}};
  const Given sum{ACL_FLOAT16, {2, 4}, {2, -2, 2, -2, 4, 0, 0, 0}};
  const Given norm{ACL_FLOAT16, {2, 4}, {1, -2, 3, -4, 2, 0, 0, 0}};
  const char* const family = "aclnnAddRmsNormQuant";
  return {{family, 1, of(aclnnAddRmsNormQuantGetWorkspaceSize), aclnnAddRmsNormQuant,
           inputs + attributes + codes + Parameters{{"xOut", sum}}, 561002},
          {family, 2, of(aclnnAddRmsNormQuantV2GetWorkspaceSize), aclnnAddRmsNormQuantV2,
           inputs + beta + attributes + codes +
               Parameters{{"xOut", sum, kOptional}, {"rmsNormOut", norm, kOptional}}}};
}

std::vector<Function> ascend_quant() {
  const Parameters inputs{{"x", {ACL_FLOAT, {2, 3}, {1, -3, 4, 100, 1, -7}}},
                          {"scale", {ACL_FLOAT, {3}, {2, 0.5f, -1}}},
                          {"offset", {ACL_FLOAT, {3}, {0.5f, 0, 10}}, kOptional},
                          {"sqrtMode", false},
                          {"roundMode", "floor"},
                          {"dstType", kThatOfY}};
  const Parameters axis{{"axis", -1}}, y{{"y", {ACL_INT8, {2, 3}, {2, -2, 6, 127, 0, 17}}}};
  const char* const family = "aclnnAscendQuant";
  return {
      {family, 1, of(aclnnAscendQuantGetWorkspaceSize), aclnnAscendQuant, inputs + y},
      {family, 3, of(aclnnAscendQuantV3GetWorkspaceSize), aclnnAscendQuantV3, inputs + axis + y}};
}

// The first row by scales of 1, the second by halves; 1.5, -1.5 and -0.5 are ties.
std::vector<Function> group_quant() {
  return {{"aclnnGroupQuant",
           1,
           of(aclnnGroupQuantGetWorkspaceSize),
           aclnnGroupQuant,
           {{"x", {ACL_FLOAT, {2, 4}, {1, -2, 2.5f, 1000, 1, -2, 2.5f, 1000}}},
            {"scale", {ACL_FLOAT, {2, 4}, {1, 1, 1, 1, 0.5f, 0.5f, 0.5f, 0.5f}}},
            {"groupIndex", {ACL_INT32, {2}, {1, 2}}},
            {"offsetOptional", {ACL_FLOAT, {1}, {0.5f}}, kOptional},
            {"dstType", kThatOfY},
            {"y", {ACL_INT8, {2, 4}, {2, -2, 3, 127, 1, 0, 2, 127}}}}}};
}

std::vector<Function> to_numbers() {
  return {{"aclnnDequantBias",
           1,
           of(aclnnDequantBiasGetWorkspaceSize),
           aclnnDequantBias,
           {{"x", {ACL_INT32, {2, 3}, {1, 2, 3, 4, 5, 6}}},
            {"weightScale", {ACL_FLOAT, {3}, {1, 2, 4}}},
            {"activateScaleOptional", {ACL_FLOAT, {2}, {1, 10}}, kOptional},
            {"biasOptional", {ACL_FLOAT, {3}, {1, 0, -1}}, kOptional},
            {"outputDtype", kThatOfY},
            {"out", {ACL_FLOAT16, {2, 3}, {2, 4, 11, 41, 100, 239}}}},
           561002},
          {"aclnnAscendAntiQuant",
           1,
           of(aclnnAscendAntiQuantGetWorkspaceSize),
           aclnnAscendAntiQuant,
           {{"x", {ACL_INT8, {2, 3}, {-128, 0, 127, 1, 2, 3}}},
            {"scale", {ACL_FLOAT, {3}, {0.5f, 1, 0.25f}}},
            {"offset", {ACL_FLOAT, {3}, {8, -1, 1}}, kOptional},
            {"dstType", kThatOfY},
            {"sqrtMode", false},
            {"y", {ACL_FLOAT16, {2, 3}, {-60, -1, 32, 4.5f, 1, 1}}}}},
          // Codes of 1, 448, -2^-9 and -1, times 2.
          {"aclnnAntiMxQuant",
           1,
           of(aclnnAntiMxQuantGetWorkspaceSize),
           aclnnAntiMxQuant,
           {{"x", {ACL_FLOAT8_E4M3FN, {1, 4}, {0x38, 0x7e, 0x81, 0xb8}}},
            {"mxscale", {ACL_FLOAT8_E8M0, {1, 1, 2}, {128, 0}}},
            {"axis", -1},
            {"dstType", kThatOfY},
            {"y", {ACL_FLOAT, {1, 4}, {2, 896, -0x1p-8f, -2}}}}}};
}

// 1 is 0x3f800000, -2 0xc0000000, and 1.000732421875 0x3f801800, cut or rounded. -1 is 0x1ff <<
// 37, 2 is 2 << 37, beside 1 << 46.
std::vector<Function> in_words() {
  const Parameters inputs{{"scale", {ACL_FLOAT, {3}, {1, -2, 0x1.003p0f}}},
                          {"offset", {ACL_FLOAT, {3}, {-1, 2.5f, 0}}, kOptional}};
  const auto words = [](float last) {
    const std::vector<float> bytes = {0, 0,    0x80, 0x3f, 0xe0, 0x7f, 0, 0,
                                      0, 0,    0,    0xc0, 0x40, 0x40, 0, 0,
                                      0, last, 0x80, 0x3f, 0,    0x40, 0, 0};
    return Parameters{{"out", {ACL_INT64, {3}, bytes}}};
  };
  const char* const family = "aclnnTransQuantParam";
  return {
      {family, 2, of(aclnnTransQuantParamV2GetWorkspaceSize), aclnnTransQuantParamV2,
       inputs + words(0)},
      {family, 3, of(aclnnTransQuantParamV3GetWorkspaceSize), aclnnTransQuantParamV3,
       inputs + Parameters{{"roundMode", 1}} + words(0x20)},
      {"aclnnConvertWeightToINT4Pack",
       1,
       of(aclnnConvertWeightToINT4PackGetWorkspaceSize),
       aclnnConvertWeightToINT4Pack,
       {{"weight", {ACL_INT32, {2, 8}, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}}},
        {"weightInt4Pack",
         {ACL_INT32, {2, 1}, {0x98, 0xba, 0xdc, 0xfe, 0x10, 0x32, 0x54, 0x76}}}}}};
}

// What is not written holds 77. -1.5 + 1 is a tie.
std::vector<Function> quant_scatter() {
  const Parameters tensors{
      {"selfRef", {ACL_INT8, {1, 3, 2}, {77, 77, 2, 0, 77, 77}}},
      {"indices", {ACL_INT32, {1}, {1}}},
      {"updates", {ACL_FLOAT16, {1, 1, 2}, {1, -3}}},
      {"quantScales", {ACL_FLOAT, {2}, {0.5f, 2}}},
      {"quantZeroPoints", {ACL_INT32, {2}, {0, 1}}, kOptional},
      {"axis", -2},
      {"quantAxis", -1},
      {"reduction", 1},
  };
  const char* const family = "aclnnInplaceQuantScatter";
  return {
      {family, 1, of(aclnnInplaceQuantScatterGetWorkspaceSize), aclnnInplaceQuantScatter, tensors},
      {family, 2, of(aclnnInplaceQuantScatterV2GetWorkspaceSize), aclnnInplaceQuantScatterV2,
       tensors + Parameters{{"roundMode", "rint"}}}};
}

Parameter* find(Parameters& parameters, const std::string& name) {
  for (Parameter& parameter : parameters)
    if (parameter.name == name) return &parameter;
  return nullptr;
}

}  // namespace

const std::vector<Function>& all_functions() {
  static const auto* const all = [] {
    auto* const functions = new std::vector<Function>;
    for (const auto& family :
         {fake_quant(), dynamic_quant(), dynamic_block_quant(), dynamic_mx_quant(),
          dynamic_mx_quant_with_dual_axis(), dynamic_dual_level_mx_quant(), add_rms_norm(),
          add_rms_norm_quant(), ascend_quant(), group_quant(), to_numbers(), in_words(),
          quant_scatter(), quant_products(), gated_linear_units(), weight_quant_products(),
          rows_of_experts(), products_by_experts(), grouped_products()})
      functions->insert(functions->end(), family.begin(), family.end());
    return functions;
  }();
  return *all;
}

std::vector<Function> functions_of(const std::string& name) {
  std::vector<Function> found;
  for (const Function& one : all_functions())
    if (name == one.family || name == one.family + ("V" + std::to_string(one.version)))
      found.push_back(one);
  return found;
}

bool Function::takes(const Parameters& changes) const {
  Parameters own = parameters;
  return std::all_of(changes.begin(), changes.end(), [&](const Parameter& one) {
    return one.is_output() || find(own, one.name) != nullptr;
  });
}

bool is_packed(aclDataType dtype) {
  return dtype == ACL_INT4 || dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2;
}

Tensor tensor_of(const Parameter& parameter) {
  const auto& [dtype, shape, elements, strides, offset] = parameter.tensor;
  if (dtype == ACL_DT_UNDEFINED) return {};
  std::vector<float> held = elements;
  if (parameter.is_output() || elements.empty())
    held.assign(static_cast<size_t>(count_of(shape)), parameter.is_output() ? 77.0f : 1.0f);
  if (!is_packed(dtype))
    return strided_of(held, shape, dtype, strides.empty() ? contiguous_strides(shape) : strides,
                      offset);
  std::vector<uint8_t> bytes(held.begin(), held.end());
  if (parameter.is_output()) bytes.resize(bytes.size() / 2);
  return Tensor(Block(bytes), shape, strides.empty() ? contiguous_strides(shape) : strides, offset,
                dtype);
}

Call::Call(const Function& function, const Parameters& changes)
    : parameters(function.parameters), function_(function) {
  for (const Parameter& change : changes)
    if (Parameter* const changed = find(parameters, change.name)) *changed = change;
  const auto y = std::find_if(parameters.begin(), parameters.end(),
                              [](const Parameter& one) { return one.is_output(); });
  for (const Parameter& parameter : parameters) {
    tensors.push_back(parameter.is_tensor ? tensor_of(parameter) : Tensor());
    if (parameter.is_tensor)
      arguments.emplace_back(tensors.back().get());
    else if (parameter.attribute == Attribute(kThatOfY))
      arguments.emplace_back(Attribute(int64_t{y->tensor.dtype}));
    else
      arguments.emplace_back(parameter.attribute);
  }
}

void Call::expect_results() const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_output() || tensors[i].get() == nullptr) continue;
    EXPECT_EQ(floats_in(tensors[i], parameters[i].tensor.dtype), parameters[i].tensor.elements)
        << parameters[i].name;
  }
}

}  // namespace npu_quant::testing
