// aclnnAscendQuantV3 to int4, and back with aclnnAscendAntiQuant: two codes share a byte, the first
// one its low half.
#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x * 2 is 2 -4 6 -8 and 1 7 200 -200, of which 7 and -8 remain. So the bytes are 0xC2, 0x86,
  // 0x71 and 0x87. Times 0.5 they are the values again, but for those that were too great.
  Tensor<float> x, scale, back;
  CHECK(x.create({2, 4}, ACL_FLOAT, {1, -2, 3, -4, 0.5f, 3.5f, 100, -100}));
  CHECK(scale.create({1}, ACL_FLOAT, {2}));
  CHECK(back.create({1}, ACL_FLOAT, {0.5f}));
  const bool sqrt_mode = false;
  const int32_t axis = -1;
  Tensor<uint8_t> codes;
  CHECK(codes.create({2, 4}, ACL_INT4, std::vector<uint8_t>(2 * 4 / 2)));
  Tensor<uint16_t> values;
  CHECK(values.create_output({2, 4}, ACL_FLOAT16));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAscendQuantV3GetWorkspaceSize(x.get(), scale.get(), nullptr, sqrt_mode, "round",
                                           ACL_INT4, axis, codes.get(), &workspace_size,
                                           &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAscendQuantV3(workspace.address(), workspace_size, executor, device.stream()));

  CHECK(aclnnAscendAntiQuantGetWorkspaceSize(codes.get(), back.get(), nullptr, ACL_FLOAT16,
                                             sqrt_mode, values.get(), &workspace_size, &executor));
  DeviceMemory second_workspace;
  CHECK(second_workspace.allocate(workspace_size));
  CHECK(
      aclnnAscendAntiQuant(second_workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", codes));
  CHECK(print("value", values));
  return 0;
}
