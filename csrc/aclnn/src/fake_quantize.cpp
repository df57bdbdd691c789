// aclnnFakeQuantPerTensorAffineCachemask, aclnnFakeQuantPerChannelAffineCachemask: the fake
// quantizers.
#include "ops/fake_quantize.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_fake_quant_per_channel_affine_cachemask.h"
#include "aclnnop/aclnn_fake_quant_per_tensor_affine_cachemask.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function kPerTensor{.name = "aclnnFakeQuantPerTensorAffineCachemask"};
constexpr Function kPerChannel{.name = "aclnnFakeQuantPerChannelAffineCachemask"};

struct FakeQuantizeCall : Call<FakeQuantize> {
  FakeQuantizeCall(const Function& function, FakeQuantize::Form form)
      : Call(function, function.name, form, true, FakeQuantize::Rules::aclnn) {}

  void set_inputs(const aclTensor* self, const aclTensor* scale, const aclTensor* zero_point) {
    input("self", self, op.self);
    input("scale", scale, op.scale);
    input("zeroPoint", zero_point, op.zero_point);
  }
  void set_switch(float enabled) {
    fake_quant_enabled = enabled;
    op.has_switch = true;
    op.fake_quant_enabled = contiguous_view(&fake_quant_enabled, DType::float32, 1);
  }
  void set_range(int64_t least, int64_t greatest) {
    op.quant_min = least;
    op.quant_max = greatest;
  }
  void set_outputs(aclTensor* out, aclTensor* mask) {
    output("out", out, outputs[FakeQuantize::kOutput]);
    output("mask", mask, outputs[FakeQuantize::kMask]);
    op.output_dtype = outputs[FakeQuantize::kOutput].dtype;
  }

  // A number has one channel.
  void give_number_an_axis() {
    if (!op.self.present || op.self.rank > 0) return;
    for (TensorView* view :
         {&op.self, &outputs[FakeQuantize::kOutput], &outputs[FakeQuantize::kMask]})
      if (view->rank == 0) {
        view->rank = view->shape.rank = 1;
        view->shape.dims[0] = 1;
      }
  }

  float fake_quant_enabled = 1;
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnFakeQuantPerTensorAffineCachemaskGetWorkspaceSize(
    const aclTensor* self, const aclTensor* scale, const aclTensor* zeroPoint,
    float fakeQuantEnabled, int64_t quantMin, int64_t quantMax, aclTensor* out, aclTensor* mask,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto fill = [&](auto& call) {
    call.set_inputs(self, scale, zeroPoint);
    call.set_switch(fakeQuantEnabled);
    call.set_range(quantMin, quantMax);
    call.set_outputs(out, mask);
  };
  return plan<FakeQuantizeCall>(kPerTensor, workspaceSize, executor, fill,
                                FakeQuantize::Form::arrays);
}

aclnnStatus aclnnFakeQuantPerChannelAffineCachemaskGetWorkspaceSize(
    const aclTensor* self, const aclTensor* scale, const aclTensor* zeroPoint, int64_t axis,
    int64_t quantMin, int64_t quantMax, aclTensor* out, aclTensor* mask, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  const auto fill = [&](auto& call) {
    call.set_inputs(self, scale, zeroPoint);
    call.op.axis = axis;
    call.set_range(quantMin, quantMax);
    call.set_outputs(out, mask);
    call.give_number_an_axis();
  };
  return plan<FakeQuantizeCall>(kPerChannel, workspaceSize, executor, fill,
                                FakeQuantize::Form::per_channel);
}

NPU_QUANT_SECOND_PHASE(aclnnFakeQuantPerTensorAffineCachemask, kPerTensor)
NPU_QUANT_SECOND_PHASE(aclnnFakeQuantPerChannelAffineCachemask, kPerChannel)
