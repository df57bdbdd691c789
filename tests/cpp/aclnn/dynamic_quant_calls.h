// aclnnDynamicQuant, V1 to V4, for their tests: a call that is good, and what is tried with each.
#pragma once

#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_dynamic_quant_v2.h"
#include "aclnnop/aclnn_dynamic_quant_v3.h"
#include "aclnnop/aclnn_dynamic_quant_v4.h"
#include "op_checks.h"

namespace npu_quant::testing {

using Values = std::vector<float>;

struct AnyDynamicQuantCall {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    switch (version) {
      case 1:
        return aclnnDynamicQuantGetWorkspaceSize(x.get(), smooth.get(), y.get(), scale.get(), size,
                                                 executor);
      case 2:
        return aclnnDynamicQuantV2GetWorkspaceSize(x.get(), smooth.get(), group.get(), dst_type,
                                                   y.get(), scale.get(), offset.get(), size,
                                                   executor);
      case 3:
        return aclnnDynamicQuantV3GetWorkspaceSize(x.get(), smooth.get(), group.get(), dst_type,
                                                   is_symmetrical, mode, y.get(), scale.get(),
                                                   offset.get(), size, executor);
      default:
        return aclnnDynamicQuantV4GetWorkspaceSize(x.get(), smooth.get(), group.get(), dst_type,
                                                   is_symmetrical, mode, dst_type_max, y.get(),
                                                   scale.get(), offset.get(), size, executor);
    }
  }
  auto phase2() const {
    constexpr decltype(&aclnnDynamicQuant) kPhases[] = {aclnnDynamicQuant, aclnnDynamicQuantV2,
                                                        aclnnDynamicQuantV3, aclnnDynamicQuantV4};
    return kPhases[version - 1];
  }

  int version = 4;
  Tensor x = tensor_of({0, 1, -2, 4, 3, -1.5f, 0.75f, -3}, {2, 4}, ACL_FLOAT16);
  Tensor smooth, group;
  int64_t dst_type = ACL_INT8;
  bool is_symmetrical = true;
  const char* mode = "pertoken";
  float dst_type_max = 0;
  Tensor y = device_output<int8_t>({2, 4}, ACL_INT8);
  Tensor scale = device_output<float>({2}, ACL_FLOAT);
  Tensor offset;
};

// A call for an x whose rows are tokens.
inline AnyDynamicQuantCall dynamic_quant_of(const std::vector<float>& values, const Dims& shape,
                                            aclDataType dtype) {
  AnyDynamicQuantCall call;
  call.x = tensor_of(values, shape, dtype);
  call.y = device_output<int8_t>(shape, ACL_INT8);
  call.scale = device_output<float>(Dims(shape.begin(), shape.end() - 1), ACL_FLOAT);
  return call;
}

// y of that dtype in so many bytes.
inline void set_codes(AnyDynamicQuantCall& call, aclDataType dtype, const Dims& shape,
                      size_t bytes) {
  call.y =
      Tensor(Block(std::vector<uint8_t>(bytes, 77)), shape, contiguous_strides(shape), 0, dtype);
  call.dst_type = dtype;
}

class DynamicQuantVersions : public OnDevice, public ::testing::WithParamInterface<int> {
 protected:
  void compute(AnyDynamicQuantCall& call) {
    call.version = GetParam();
    ASSERT_EQ(run(stream, call.phase2(), call), 0);
  }
  void expect_refusals(const std::vector<Fault<AnyDynamicQuantCall>>& faults) {
    expect_all_refused<AnyDynamicQuantCall>(
        faults, [](AnyDynamicQuantCall& call) { call.version = GetParam(); });
  }
};

}  // namespace npu_quant::testing
