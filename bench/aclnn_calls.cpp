// What a call of the C API costs: both phases on 16 elements, again and again. Loaded by
// bench/aclnn_calls.py beside the library that is installed.
#include <cstdint>
#include <cstring>

#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_dynamic_block_quant.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_fake_quant_per_channel_affine_cachemask.h"
#include "aclnnop/aclnn_fake_quant_per_tensor_affine_cachemask.h"

namespace {

constexpr int64_t kElements = 16;

// A row of 16, or one element; every tensor has memory of its own.
class Tensor {
 public:
  explicit Tensor(aclDataType type, bool is_row = true) {
    const int64_t row[] = {1, kElements}, one[] = {1};
    for (float& value : values_) value = 1;  // no scale is 0; as integers they do not matter
    tensor_ = is_row ? aclCreateTensor(row, 2, type, nullptr, 0, ACL_FORMAT_ND, row, 2, values_)
                     : aclCreateTensor(one, 1, type, nullptr, 0, ACL_FORMAT_ND, one, 1, values_);
  }
  operator aclTensor*() const { return tensor_; }

 private:
  alignas(64) float values_[kElements];
  aclTensor* tensor_;
};

struct Tensors {
  Tensor x{ACL_FLOAT}, x2{ACL_FLOAT}, codes{ACL_INT8};
  Tensor gamma{ACL_FLOAT}, scale{ACL_FLOAT, false}, offset{ACL_FLOAT, false};
  Tensor no_zero_point{ACL_INT32, false};
  Tensor y{ACL_INT8}, y2{ACL_INT8}, sum{ACL_FLOAT}, mask{ACL_BOOL}, half{ACL_FLOAT16};
  Tensor row_scale{ACL_FLOAT, false}, block_scale{ACL_FLOAT, false};

  Tensors() {
    const int64_t one_by_one[] = {1, 1};
    aclInitTensor(block_scale, one_by_one, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, one_by_one, 2,
                  &block_scale_value);
    aclInitTensor(no_zero_point, one_by_one, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, one_by_one, 1,
                  &zero_point_value);
  }
  float block_scale_value = 0;
  int32_t zero_point_value = 0;
};

using Plan = aclnnStatus (*)(const Tensors&, uint64_t*, aclOpExecutor**);
using Launch = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

struct Function {
  const char* name;
  Plan plan;
  Launch launch;
};

char round_mode[] = "rint";

const Function kFunctions[] = {
    {"aclnnDynamicQuant",
     [](const Tensors& t, uint64_t* w, aclOpExecutor** e) {
       return aclnnDynamicQuantGetWorkspaceSize(t.x, nullptr, t.y, t.row_scale, w, e);
     },
     aclnnDynamicQuant},
    {"aclnnDynamicBlockQuant",
     [](const Tensors& t, uint64_t* w, aclOpExecutor** e) {
       return aclnnDynamicBlockQuantGetWorkspaceSize(t.x, 0, round_mode, ACL_INT8, 1, 128, t.y,
                                                     t.block_scale, w, e);
     },
     aclnnDynamicBlockQuant},
    {"aclnnAddRmsNormQuant",
     [](const Tensors& t, uint64_t* w, aclOpExecutor** e) {
       return aclnnAddRmsNormQuantGetWorkspaceSize(t.x, t.x2, t.gamma, t.scale, nullptr, t.offset,
                                                   nullptr, -1, 1e-6, true, t.y, t.y2, t.sum, w, e);
     },
     aclnnAddRmsNormQuant},
    {"aclnnFakeQuantPerTensorAffineCachemask",
     [](const Tensors& t, uint64_t* w, aclOpExecutor** e) {
       return aclnnFakeQuantPerTensorAffineCachemaskGetWorkspaceSize(
           t.x, t.scale, t.no_zero_point, 1, -128, 127, t.sum, t.mask, w, e);
     },
     aclnnFakeQuantPerTensorAffineCachemask},
    {"aclnnFakeQuantPerChannelAffineCachemask",
     [](const Tensors& t, uint64_t* w, aclOpExecutor** e) {
       return aclnnFakeQuantPerChannelAffineCachemaskGetWorkspaceSize(
           t.x, t.scale, t.no_zero_point, 0, -128, 127, t.sum, t.mask, w, e);
     },
     aclnnFakeQuantPerChannelAffineCachemask},
    {"aclnnAscendQuant",
     [](const Tensors& t, uint64_t* w, aclOpExecutor** e) {
       return aclnnAscendQuantGetWorkspaceSize(t.x, t.scale, t.offset, false, "round", ACL_INT8,
                                               t.y, w, e);
     },
     aclnnAscendQuant},
    {"aclnnAscendAntiQuant",
     [](const Tensors& t, uint64_t* w, aclOpExecutor** e) {
       return aclnnAscendAntiQuantGetWorkspaceSize(t.codes, t.scale, t.offset, ACL_FLOAT16, false,
                                                   t.half, w, e);
     },
     aclnnAscendAntiQuant},
};

}  // namespace

// Calls a function so many times. Returns the first code that is not 0, -1 for an unknown name.
extern "C" __attribute__((visibility("default"))) int aclnn_calls(const char* name,
                                                                  int64_t repeats) {
  static const auto* const tensors = new Tensors;
  for (const Function& function : kFunctions) {
    if (std::strcmp(function.name, name) != 0) continue;
    for (; repeats > 0; --repeats) {
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      if (const int code = function.plan(*tensors, &size, &executor); code != OK) return code;
      if (const int code = function.launch(nullptr, size, executor, nullptr); code != OK)
        return code;
    }
    return OK;
  }
  return -1;
}
