// Calls whose results are known by hand, for tests of what surrounds an operator.
#pragma once

#include <cstdint>
#include <vector>

#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "tensors.h"

namespace npu_quant::testing {

// A handle of nothing.
template <class Handle>
Handle unknown_handle() {
  return reinterpret_cast<Handle>(&on_the_stack);
}

// aclnnDynamicQuant of rows [0, 1, -2, 4] * factor, a power of two: the codes are those of factor
// 1, the scales are factor * 4 / 127.
struct DynamicQuantCall {
  explicit DynamicQuantCall(float factor = 1, int64_t rows = 2)
      : x(device_tensor(values(factor, rows), {rows, 4}, ACL_FLOAT)),
        y(device_output<int8_t>({rows, 4}, ACL_INT8)),
        scale(device_output<float>({rows}, ACL_FLOAT)) {}

  static std::vector<float> values(float factor, int64_t rows = 2) {
    std::vector<float> result;
    for (int64_t i = 0; i < rows; ++i)
      result.insert(result.end(), {0, factor, -2 * factor, 4 * factor});
    return result;
  }
  aclnnStatus operator()(uint64_t* workspace_size, aclOpExecutor** executor) const {
    return aclnnDynamicQuantGetWorkspaceSize(x.get(), nullptr, y.get(), scale.get(), workspace_size,
                                             executor);
  }
  static void expect_results(float factor, const std::vector<int8_t>& y,
                             const std::vector<float>& scale) {
    std::vector<int8_t> codes;
    for (size_t i = 0; i < scale.size(); ++i) codes.insert(codes.end(), {0, 32, -64, 127});
    EXPECT_EQ(y, codes);
    EXPECT_EQ(scale, std::vector<float>(scale.size(), factor * bits_as<float>(0x3d010204U)));
  }
  void expect_results(float factor = 1) const {
    expect_results(factor, y.host<int8_t>(), scale.host<float>());
  }
  bool is_untouched() const {
    return y.host<int8_t>() == std::vector<int8_t>(y.host<int8_t>().size(), 77) &&
           scale.host<float>() == std::vector<float>(scale.host<float>().size(), 77);
  }

  Tensor x, y, scale;
};

// aclnnAscendAntiQuant: y = (x + 1) * 1 as float16.
struct AntiQuantCall {
  aclnnStatus operator()(uint64_t* workspace_size, aclOpExecutor** executor) const {
    return aclnnAscendAntiQuantGetWorkspaceSize(x.get(), scale.get(), offset.get(), ACL_FLOAT16,
                                                false, y.get(), workspace_size, executor);
  }
  static std::vector<uint16_t> expected() {
    return {15360, 16384, 16896, 17408, 17664, 17920, 18176, 18432};  // 1 to 8
  }
  std::vector<uint16_t> result() const { return y.host<uint16_t>(); }
  static std::vector<uint16_t> untouched() { return std::vector<uint16_t>(8, 77); }

  Tensor x = device_tensor<int8_t>({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, ACL_INT8);
  Tensor scale = device_tensor<float>({1}, {1}, ACL_FLOAT);
  Tensor offset = device_tensor<float>({1}, {1}, ACL_FLOAT);
  Tensor y = device_output<uint16_t>({4, 2}, ACL_FLOAT16);
};

}  // namespace npu_quant::testing
