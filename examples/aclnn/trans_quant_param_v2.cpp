// aclnnTransQuantParamV2: the words that the device's products take, of a scale and an offset for
// each of three columns.
#include "aclnnop/aclnn_trans_quant_param_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Beside bit 46 a word holds the bits of its scale, 0x3f800000, 0xc0000000 and 0x3f000000, of
  // which the last 13 are 0, and its offset in 9 bits from 37 on: 1, -2 (0x1fe) and 255.
  Tensor<float> scale, offset;
  CHECK(scale.create({3}, ACL_FLOAT, {1, -2, 0.5f}));
  CHECK(offset.create({3}, ACL_FLOAT, {1, -2, 1000}));
  Tensor<uint64_t> out;
  CHECK(out.create_output({3}, ACL_UINT64));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnTransQuantParamV2GetWorkspaceSize(scale.get(), offset.get(), out.get(),
                                               &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnTransQuantParamV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
