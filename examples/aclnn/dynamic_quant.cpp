// aclnnDynamicQuant: int8 codes and one scale per row, with a smooth scale per column.
#include "aclnnop/aclnn_dynamic_quant.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // x * smooth is {127, -32, 32.5, 1} and {0.5, -0.25, 0.75, -63.5}. The largest of a row gives its
  // scale, 127 / 127 = 1 and 63.5 / 127 = 0.5; the quotients {127, -32, 32.5, 1} and
  // {1, -0.5, 1.5, -127} are rounded, ties to even: 127 -32 32 1 and 1 0 2 -127.
  Tensor<uint16_t> x, smooth;
  CHECK(
      x.create({2, 4}, ACL_FLOAT16, to_halves({127, -64, 16.25f, 1, 0.5f, -0.5f, 0.375f, -63.5f})));
  CHECK(smooth.create({4}, ACL_FLOAT16, to_halves({1, 0.5f, 2, 1})));
  Tensor<int8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({2, 4}, ACL_INT8));
  CHECK(scale.create_output({2}, ACL_FLOAT));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicQuantGetWorkspaceSize(x.get(), smooth.get(), y.get(), scale.get(),
                                          &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicQuant(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
