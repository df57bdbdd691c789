// aclnnSwiGlu: npu_swiglu. aclnnSwiGluQuant, V2: npu_swiglu_quant. aclnnDequantSwigluQuant, V2:
// npu_dequant_swiglu_quant. aclnnSwigluGroupQuant: npu_swiglu_group_quant.
#include "ops/swiglu.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_dequant_swiglu_quant.h"
#include "aclnnop/aclnn_dequant_swiglu_quant_v2.h"
#include "aclnnop/aclnn_swi_glu.h"
#include "aclnnop/aclnn_swi_glu_quant.h"
#include "aclnnop/aclnn_swi_glu_quant_v2.h"
#include "aclnnop/aclnn_swiglu_group_quant.h"
#include "ops/dequant_swiglu_quant.h"
#include "ops/swiglu_group_quant.h"
#include "ops/swiglu_quant.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kGluNames = {{"quant_mode", "quantModeOptional"},
                                                        {"round_mode", "roundModeOptional"}};
constexpr Format kIntegersOfGlu[] = {Format::int8, Format::int4};
constexpr Format kCodesOfGlu[] = {Format::int8,          Format::hifloat8,    Format::float8_e5m2,
                                  Format::float8_e4m3fn, Format::float4_e2m1, Format::float4_e1m2};

constexpr Format kFloatsOfGlu[] = {Format::float8_e5m2, Format::float8_e4m3fn};

constexpr Function kSwiGlu{.name = "aclnnSwiGlu"};
constexpr Function glu_function(const char* name, std::span<const Format> codes) {
  return {.name = name, .other_names = kGluNames, .codes = codes};
}
constexpr Function kSwiGluQuant = glu_function("aclnnSwiGluQuant", kIntegersOfGlu);
constexpr Function kSwiGluQuantV2 = glu_function("aclnnSwiGluQuantV2", kIntegersOfGlu);
constexpr Function kSwigluGroup{.name = "aclnnSwigluGroupQuant", .codes = kFloatsOfGlu};
constexpr Function kDequantSwiglu = glu_function("aclnnDequantSwigluQuant", kCodesOfGlu);
constexpr Function kDequantSwigluV2 = glu_function("aclnnDequantSwigluQuantV2", kCodesOfGlu);

// The place of a word among those that an attribute may be; NULL is the first.
template <size_t count>
int64_t take_word(Executor& call, const char* attribute, const char* word,
                  const char* const (&words)[count]) {
  if (word == nullptr) return 0;
  const auto* const found = std::find(words, words + count, std::string_view(word));
  if (found != words + count) return found - words;
  call.fail(Fault::attribute, attribute, {"is ", quoted(word)},
            {"expected ", joined(words, [](const char* one) { return quoted(one); }, " or ")});
  return 0;
}
int64_t take_quant_mode(Executor& call, const char* word) {
  static constexpr const char* kWords[] = {"static", "dynamic"};
  return take_word(call, "quantModeOptional", word, kWords);
}
int64_t take_round_mode(Executor& call, const char* word) {
  static constexpr const char* kWords[] = {"rint", "round", "floor", "ceil", "trunc"};
  return take_word(call, "roundModeOptional", word, kWords);
}

// What the operators that quantize have in common.
template <class Operator>
struct GluCall : Call<Operator> {
  using Call<Operator>::Call;

  void set_modes(bool activate_left, const char* quant_mode) {
    this->op.activate_left = activate_left;
    this->op.quant_mode = take_quant_mode(*this, quant_mode);
  }
  void set_outputs(const aclTensor* y, const aclTensor* scale) {
    this->output("yOut", y, this->outputs[Operator::kY]);
    this->output("scaleOut", scale, this->outputs[Operator::kScale]);
  }
};

struct SwiGluQuantCall : GluCall<SwigluQuant> {
  using GluCall::GluCall;

  void set(const aclTensor* x, const aclTensor* smooth_scales, const aclTensor* offsets,
           const aclTensor* group_index, bool activate_left, const char* quant_mode) {
    input("x", x, op.x);
    optional_input("smoothScalesOptional", smooth_scales, op.smooth_scales);
    optional_input("offsetsOptional", offsets, op.offsets);
    optional_input("groupIndexOptional", group_index, op.group_index);
    set_modes(activate_left, quant_mode);
  }
};

struct DequantSwigluQuantCall : GluCall<DequantSwigluQuant> {
  using GluCall::GluCall;

  void set(const aclTensor* x, const aclTensor* weight_scale, const aclTensor* activation_scale,
           const aclTensor* bias, const aclTensor* quant_scale, const aclTensor* quant_offset,
           const aclTensor* group_index) {
    input("x", x, op.x);
    optional_input("weightScaleOptional", weight_scale, op.weight_scale);
    optional_input("activationScaleOptional", activation_scale, op.activation_scale);
    optional_input("biasOptional", bias, op.bias);
    optional_input("quantScaleOptional", quant_scale, op.quant_scale);
    optional_input("quantOffsetOptional", quant_offset, op.quant_offset);
    optional_input("groupIndexOptional", group_index, op.group_index);
  }
};

struct SwigluGroupQuantCall : Call<SwigluGroupQuant> {
  using Call::Call;

  void set(const aclTensor* x, const aclTensor* weight, const aclTensor* group_index,
           const aclTensor* scale) {
    input("x", x, op.x);
    optional_input("weightOptional", weight, op.weight);
    optional_input("groupIndexOptional", group_index, op.group_index);
    optional_input("scaleOptional", scale, op.scale);
  }
  void set_outputs(const aclTensor* y, const aclTensor* scale, const aclTensor* origin,
                   int64_t dst_type) {
    output("yOut", y, outputs[op.kY]);
    output("yScaleOut", scale, outputs[op.kScale]);
    if (op.output_origin)
      output("yOriginOut", origin, outputs[op.kOrigin]);
    else
      optional_output("yOriginOut", origin, ignored_);
    op.dst_type = codes_of(outputs[op.kY], dst_type);
    op.scale_array = DType::float8_e8m0fnu;
  }

 private:
  TensorView ignored_;  // documented as of y's shape, where nothing is written
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnSwiGluGetWorkspaceSize(const aclTensor* x, int64_t dim, const aclTensor* out,
                                        uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<Call<Swiglu>>(kSwiGlu, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.self);
    call.op.dim = dim;
    call.output("out", out, call.outputs[Swiglu::kY]);
  });
}

aclnnStatus aclnnSwiGluQuantGetWorkspaceSize(const aclTensor* x,
                                             const aclTensor* smoothScalesOptional,
                                             const aclTensor* offsetsOptional,
                                             const aclTensor* groupIndexOptional, bool activateLeft,
                                             char* quantModeOptional, const aclTensor* yOut,
                                             const aclTensor* scaleOut, uint64_t* workspaceSize,
                                             aclOpExecutor** executor) {
  return plan<SwiGluQuantCall>(kSwiGluQuant, workspaceSize, executor, [&](auto& call) {
    call.set(x, smoothScalesOptional, offsetsOptional, groupIndexOptional, activateLeft,
             quantModeOptional);
    call.set_outputs(yOut, scaleOut);
    call.op.dst_type = call.codes_of(call.outputs[SwigluQuant::kY]);
  });
}

aclnnStatus aclnnSwiGluQuantV2GetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* offsetsOptional,
    const aclTensor* groupIndexOptional, bool activateLeft, char* quantModeOptional,
    int64_t groupListType, int64_t dstType, const aclTensor* yOut, const aclTensor* scaleOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<SwiGluQuantCall>(kSwiGluQuantV2, workspaceSize, executor, [&](auto& call) {
    call.set(x, smoothScalesOptional, offsetsOptional, groupIndexOptional, activateLeft,
             quantModeOptional);
    call.op.group_list_type = groupListType;
    call.set_outputs(yOut, scaleOut);
    call.op.dst_type = call.codes_of(call.outputs[SwigluQuant::kY], dstType);
  });
}

aclnnStatus aclnnDequantSwigluQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weightScaleOptional,
    const aclTensor* activationScaleOptional, const aclTensor* biasOptional,
    const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
    const aclTensor* groupIndexOptional, bool activateLeft, char* quantModeOptional,
    const aclTensor* yOut, const aclTensor* scaleOut, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return plan<DequantSwigluQuantCall>(kDequantSwiglu, workspaceSize, executor, [&](auto& call) {
    call.set(x, weightScaleOptional, activationScaleOptional, biasOptional, quantScaleOptional,
             quantOffsetOptional, groupIndexOptional);
    call.set_modes(activateLeft, quantModeOptional);
    call.set_outputs(yOut, scaleOut);
    call.op.dst_type = call.codes_of(call.outputs[DequantSwigluQuant::kY]);
  });
}

aclnnStatus aclnnDequantSwigluQuantV2GetWorkspaceSize(
    const aclTensor* x, const aclTensor* weightScaleOptional,
    const aclTensor* activationScaleOptional, const aclTensor* biasOptional,
    const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
    const aclTensor* groupIndexOptional, bool activateLeft, char* quantModeOptional,
    int64_t dstType, char* roundModeOptional, int64_t activateDim, int64_t swigluMode,
    double clampLimit, double gluAlpha, double gluBias, const aclTensor* yOut,
    const aclTensor* scaleOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<DequantSwigluQuantCall>(kDequantSwigluV2, workspaceSize, executor, [&](auto& call) {
    call.set(x, weightScaleOptional, activationScaleOptional, biasOptional, quantScaleOptional,
             quantOffsetOptional, groupIndexOptional);
    call.set_modes(activateLeft, quantModeOptional);
    call.op.round_mode = take_round_mode(call, roundModeOptional);
    call.op.activate_dim = activateDim;
    call.op.swiglu_mode = swigluMode;
    call.op.clamp_limit = clampLimit;
    call.op.glu_alpha = gluAlpha;
    call.op.glu_bias = gluBias;
    call.set_outputs(yOut, scaleOut);
    call.op.dst_type = call.codes_of(call.outputs[DequantSwigluQuant::kY], dstType);
  });
}

aclnnStatus aclnnSwigluGroupQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weightOptional, const aclTensor* groupIndexOptional,
    const aclTensor* scaleOptional, int64_t dstType, int64_t quantMode, int64_t blockSize,
    bool roundScale, double clampLimit, double dstTypeMax, bool outputOrigin, const aclTensor* yOut,
    const aclTensor* yScaleOut, const aclTensor* yOriginOut, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return plan<SwigluGroupQuantCall>(kSwigluGroup, workspaceSize, executor, [&](auto& call) {
    call.set(x, weightOptional, groupIndexOptional, scaleOptional);
    call.op.quant_mode = quantMode;
    call.op.block_size = blockSize;
    call.op.round_scale = roundScale;
    call.op.clamp_limit = clampLimit;
    call.op.dst_type_max = dstTypeMax;
    call.op.output_origin = outputOrigin;
    call.set_outputs(yOut, yScaleOut, yOriginOut, dstType);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnSwiGlu, kSwiGlu)
NPU_QUANT_SECOND_PHASE(aclnnSwigluGroupQuant, kSwigluGroup)
NPU_QUANT_SECOND_PHASE(aclnnSwiGluQuant, kSwiGluQuant)
NPU_QUANT_SECOND_PHASE(aclnnSwiGluQuantV2, kSwiGluQuantV2)
NPU_QUANT_SECOND_PHASE(aclnnDequantSwigluQuant, kDequantSwiglu)
NPU_QUANT_SECOND_PHASE(aclnnDequantSwigluQuantV2, kDequantSwigluV2)
