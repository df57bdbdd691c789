// aclnnConvertWeightToINT4Pack: sixteen codes of 4 bits, an int32 each, in two int32.
#include "aclnnop/aclnn_convert_weight_to_int4_pack.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // Read as bytes, two codes are in each, the first in the low half: 0x98 is -8 and -7.
  Tensor<int32_t> weight;
  CHECK(weight.create({2, 8}, ACL_INT32, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}));
  Tensor<uint32_t> packed;
  CHECK(packed.create_output({2, 1}, ACL_INT32));

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnConvertWeightToINT4PackGetWorkspaceSize(weight.get(), packed.get(), &workspace_size,
                                                     &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(
      aclnnConvertWeightToINT4Pack(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", packed));
  return 0;
}
