// aclnnAntiMxQuant: codes of float4 and a power of two per 32 of them become floats again.
#include "aclnnop/aclnn_anti_mx_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Codes of E2M1, two to a byte: 1 2 7 15 are 0.5 1 6 -6, by the byte 128, which is 2^(128 - 127).
  // The byte 0 beside it is of a second block, which there is not.
  Tensor<uint8_t> x, mxscale;
  CHECK(x.create({4}, ACL_FLOAT4_E2M1, {0x21, 0xf7}));
  CHECK(mxscale.create({1, 2}, ACL_FLOAT8_E8M0, {128, 0}));
  Tensor<float> y;
  CHECK(y.create_output({4}, ACL_FLOAT));
  const int64_t axis = -1;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAntiMxQuantGetWorkspaceSize(x.get(), mxscale.get(), axis, ACL_FLOAT, y.get(),
                                         &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnAntiMxQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("value", y));
  return 0;
}
