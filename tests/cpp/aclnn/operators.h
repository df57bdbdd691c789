// Every operator with arguments that it takes, for tests that go through all of them.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "aclnnop/aclnn_add_rms_norm_quant_v2.h"
#include "aclnnop/aclnn_anti_mx_quant.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"
#include "aclnnop/aclnn_dynamic_block_quant.h"
#include "aclnnop/aclnn_dynamic_block_quant_v2.h"
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
#include "tensors.h"

namespace npu_quant::testing {

struct Argument {
  std::string name;
  aclDataType dtype;
  Dims shape;
  bool may_be_null = false;

  bool is_output() const {
    return name == "y" || name == "out" || name == "mask" ||
           (name.size() > 3 && name.compare(name.size() - 3, 3, "Out") == 0);
  }
};

using Handles = std::vector<aclTensor*>;

struct Operator {
  std::string name;
  std::vector<Argument> arguments;  // its tensors, in the order of its parameters
  std::function<aclnnStatus(const Handles&, uint64_t*, aclOpExecutor**)> phase1;
  aclnnStatus (*phase2)(void*, uint64_t, aclOpExecutor*, aclrtStream);
};

inline void PrintTo(const Operator& op, std::ostream* stream) { *stream << op.name; }

// Zeros for all of an operator's arguments.
inline std::vector<Tensor> tensors_of(const Operator& op) {
  std::vector<Tensor> tensors;
  for (const Argument& argument : op.arguments) {
    const size_t bytes =
        static_cast<size_t>(count_of(argument.shape)) * aclDataTypeSize(argument.dtype);
    tensors.push_back(device_tensor(std::vector<uint8_t>(bytes), argument.shape, argument.dtype));
  }
  return tensors;
}

inline Handles handles_of(const std::vector<Tensor>& tensors) {
  Handles handles;
  for (const Tensor& tensor : tensors) handles.push_back(tensor.get());
  return handles;
}

inline std::vector<Operator> fake_quant_operators() {
  const Dims rows = {2, 3}, channels = {3};
  return {
      {"aclnnFakeQuantPerTensorAffineCachemask",
       {{"self", ACL_FLOAT, rows},
        {"scale", ACL_FLOAT, {1}},
        {"zeroPoint", ACL_INT32, {1}},
        {"out", ACL_FLOAT, rows},
        {"mask", ACL_BOOL, rows}},
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnFakeQuantPerTensorAffineCachemaskGetWorkspaceSize(
             t[0], t[1], t[2], 1.0f, -128, 127, t[3], t[4], size, executor);
       },
       aclnnFakeQuantPerTensorAffineCachemask},
      {"aclnnFakeQuantPerChannelAffineCachemask",
       {{"self", ACL_FLOAT, rows},
        {"scale", ACL_FLOAT, channels},
        {"zeroPoint", ACL_INT32, channels},
        {"out", ACL_FLOAT, rows},
        {"mask", ACL_BOOL, rows}},
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnFakeQuantPerChannelAffineCachemaskGetWorkspaceSize(
             t[0], t[1], t[2], 1, -128, 127, t[3], t[4], size, executor);
       },
       aclnnFakeQuantPerChannelAffineCachemask},
  };
}

inline std::vector<Operator> dynamic_quant_operators() {
  const std::vector<Argument> arguments = {{"x", ACL_FLOAT16, {2, 4}},
                                           {"smoothScalesOptional", ACL_FLOAT16, {4}, true},
                                           {"yOut", ACL_INT8, {2, 4}},
                                           {"scaleOut", ACL_FLOAT, {2}}};
  const auto to = [&](aclDataType codes) {
    std::vector<Argument> changed = arguments;
    changed[2].dtype = codes;
    return changed;
  };
  return {
      {"aclnnDynamicQuant", arguments,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicQuantGetWorkspaceSize(t[0], t[1], t[2], t[3], size, executor);
       },
       aclnnDynamicQuant},
      {"aclnnDynamicQuantV2", arguments,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicQuantV2GetWorkspaceSize(t[0], t[1], nullptr, ACL_INT8, t[2], t[3],
                                                    nullptr, size, executor);
       },
       aclnnDynamicQuantV2},
      {"aclnnDynamicQuantV3", to(ACL_INT4),
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicQuantV3GetWorkspaceSize(t[0], t[1], nullptr, ACL_INT4, true, "pertoken",
                                                    t[2], t[3], nullptr, size, executor);
       },
       aclnnDynamicQuantV3},
      {"aclnnDynamicQuantV4", to(ACL_HIFLOAT8),
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicQuantV4GetWorkspaceSize(t[0], t[1], nullptr, ACL_HIFLOAT8, true,
                                                    "pertoken", 0.0f, t[2], t[3], nullptr, size,
                                                    executor);
       },
       aclnnDynamicQuantV4},
  };
}

inline std::vector<Operator> dynamic_block_quant_operators() {
  const std::vector<Argument> arguments = {
      {"x", ACL_FLOAT16, {2, 130}}, {"yOut", ACL_INT8, {2, 130}}, {"scaleOut", ACL_FLOAT, {2, 2}}};
  std::vector<Argument> second = arguments;
  second[1].dtype = ACL_FLOAT8_E4M3FN;
  return {
      {"aclnnDynamicBlockQuant", arguments,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicBlockQuantGetWorkspaceSize(t[0], 0.0, nullptr, ACL_INT8, 1, 128, t[1],
                                                       t[2], size, executor);
       },
       aclnnDynamicBlockQuant},
      {"aclnnDynamicBlockQuantV2", second,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicBlockQuantV2GetWorkspaceSize(t[0], 0.0, nullptr, ACL_FLOAT8_E4M3FN, 1,
                                                         128, 0.0, t[1], t[2], size, executor);
       },
       aclnnDynamicBlockQuantV2},
  };
}

inline std::vector<Operator> mx_quant_operators() {
  const auto to = [](aclDataType codes) {
    return std::vector<Argument>{{"x", ACL_FLOAT16, {2, 66}},
                                 {"yOut", codes, {2, 66}},
                                 {"mxscaleOut", ACL_FLOAT8_E8M0, {2, 2, 2}}};
  };
  return {
      {"aclnnAntiMxQuant",
       {{"x", ACL_FLOAT4_E2M1, {2, 66}},
        {"mxscale", ACL_FLOAT8_E8M0, {2, 2, 2}},
        {"y", ACL_FLOAT16, {2, 66}}},
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAntiMxQuantGetWorkspaceSize(t[0], t[1], -1, ACL_FLOAT16, t[2], size, executor);
       },
       aclnnAntiMxQuant},
      {"aclnnDynamicMxQuant", to(ACL_FLOAT8_E4M3FN),
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicMxQuantGetWorkspaceSize(t[0], -1, nullptr, ACL_FLOAT8_E4M3FN, 32, 0,
                                                    t[1], t[2], size, executor);
       },
       aclnnDynamicMxQuant},
      {"aclnnDynamicMxQuantV2", to(ACL_FLOAT4_E2M1),
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicMxQuantV2GetWorkspaceSize(t[0], -1, nullptr, ACL_FLOAT4_E2M1, 32, 2,
                                                      7.0, t[1], t[2], size, executor);
       },
       aclnnDynamicMxQuantV2},
      {"aclnnDynamicMxQuantV3", to(ACL_FLOAT8_E5M2),
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicMxQuantV3GetWorkspaceSize(t[0], -1, nullptr, ACL_FLOAT8_E5M2, 32, 1,
                                                      0.0, 0.5, t[1], t[2], size, executor);
       },
       aclnnDynamicMxQuantV3},
  };
}

inline std::vector<Operator> mx_quant_operators_of_two_axes() {
  const auto to = [](aclDataType codes) {
    return std::vector<Argument>{{"x", ACL_FLOAT16, {2, 66}},
                                 {"y1Out", codes, {2, 66}},
                                 {"mxscale1Out", ACL_FLOAT8_E8M0, {2, 2, 2}},
                                 {"y2Out", codes, {2, 66}},
                                 {"mxscale2Out", ACL_FLOAT8_E8M0, {1, 66, 2}}};
  };
  return {
      {"aclnnDynamicMxQuantWithDualAxis", to(ACL_FLOAT8_E4M3FN),
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicMxQuantWithDualAxisGetWorkspaceSize(
             t[0], nullptr, ACL_FLOAT8_E4M3FN, 1, t[1], t[2], t[3], t[4], size, executor);
       },
       aclnnDynamicMxQuantWithDualAxis},
      {"aclnnDynamicMxQuantWithDualAxisV2", to(ACL_FLOAT4_E2M1),
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDynamicMxQuantWithDualAxisV2GetWorkspaceSize(
             t[0], nullptr, ACL_FLOAT4_E2M1, 2, 7.0, t[1], t[2], t[3], t[4], size, executor);
       },
       aclnnDynamicMxQuantWithDualAxisV2},
  };
}

inline std::vector<Operator> add_rms_norm_quant_operators() {
  const Dims rows = {2, 4}, row = {4};
  const std::vector<Argument> inputs = {{"x1", ACL_FLOAT16, rows},
                                        {"x2", ACL_FLOAT16, rows},
                                        {"gamma", ACL_FLOAT16, row},
                                        {"scales1", ACL_FLOAT, row},
                                        {"scales2Optional", ACL_FLOAT, row, true},
                                        {"zeroPoints1Optional", ACL_INT32, row, true},
                                        {"zeroPoints2Optional", ACL_INT32, row, true}};
  std::vector<Argument> first = inputs, second = inputs;
  for (const Argument& y : {Argument{"y1Out", ACL_INT8, rows}, {"y2Out", ACL_INT8, rows}})
    first.push_back(y);
  second.push_back({"betaOptional", ACL_FLOAT16, row, true});
  second.insert(second.end(), first.end() - 2, first.end());
  for (auto y = second.end() - 2; y != second.end(); ++y) y->dtype = ACL_FLOAT8_E5M2;
  first.push_back({"xOut", ACL_FLOAT16, rows});
  second.push_back({"xOut", ACL_FLOAT16, rows, true});
  second.push_back({"rmsNormOut", ACL_FLOAT16, rows, true});
  return {
      {"aclnnAddRmsNormQuant", first,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAddRmsNormQuantGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6], -1,
                                                     1e-6, true, t[7], t[8], t[9], size, executor);
       },
       aclnnAddRmsNormQuant},
      {"aclnnAddRmsNormQuantV2", second,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAddRmsNormQuantV2GetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                       t[7], -1, 1e-6, true, t[8], t[9], t[10],
                                                       t[11], size, executor);
       },
       aclnnAddRmsNormQuantV2},
  };
}

inline std::vector<Operator> ascend_quant_operators() {
  const std::vector<Argument> arguments = {{"x", ACL_FLOAT, {2, 4}},
                                           {"scale", ACL_FLOAT, {4}},
                                           {"offset", ACL_FLOAT, {4}, true},
                                           {"y", ACL_INT8, {2, 4}}};
  std::vector<Argument> third = arguments;
  third[3].dtype = ACL_INT4;
  return {
      {"aclnnAscendQuant", arguments,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAscendQuantGetWorkspaceSize(t[0], t[1], t[2], false, "round", ACL_INT8, t[3],
                                                 size, executor);
       },
       aclnnAscendQuant},
      {"aclnnAscendQuantV3", third,
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAscendQuantV3GetWorkspaceSize(t[0], t[1], t[2], false, "round", ACL_INT4, -1,
                                                   t[3], size, executor);
       },
       aclnnAscendQuantV3},
      {"aclnnAscendAntiQuant",
       {{"x", ACL_INT4, {2, 4}},
        {"scale", ACL_FLOAT, {4}},
        {"offset", ACL_FLOAT, {4}, true},
        {"y", ACL_FLOAT16, {2, 4}}},
       [](const Handles& t, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAscendAntiQuantGetWorkspaceSize(t[0], t[1], t[2], ACL_FLOAT16, false, t[3],
                                                     size, executor);
       },
       aclnnAscendAntiQuant},
  };
}

// All nineteen.
inline std::vector<Operator> all_operators() {
  std::vector<Operator> all;
  for (const auto& family :
       {fake_quant_operators(), dynamic_quant_operators(), dynamic_block_quant_operators(),
        mx_quant_operators(), mx_quant_operators_of_two_axes(), add_rms_norm_quant_operators(),
        ascend_quant_operators()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace npu_quant::testing
