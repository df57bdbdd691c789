// aclnnTransQuantParamV3: scales that are rounded to 19 bits, instead of cut.
#include "aclnnop/aclnn_trans_quant_param_v3.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // 1.0009765625 has 19 bits, 0x3f802000, and 1.000732421875 is nearest to it; cut it would be 1,
  // 0x3f800000.
  Tensor<float> scale;
  CHECK(scale.create({1, 2}, ACL_FLOAT, {1.0009765625f, 1.000732421875f}));
  const int64_t round_mode = 1;
  Tensor<uint64_t> out;
  CHECK(out.create_output({1, 2}, ACL_INT64));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnTransQuantParamV3GetWorkspaceSize(scale.get(), nullptr, round_mode, out.get(),
                                               &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnTransQuantParamV3(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", out));
  return 0;
}
