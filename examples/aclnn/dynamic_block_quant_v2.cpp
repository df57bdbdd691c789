// aclnnDynamicBlockQuantV2: as V1, and a largest code for types that have several; 0 for int8.
#include "aclnnop/aclnn_dynamic_block_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // A whole block, 0 to 127, whose scale is 1, and what is left of the row: -254 and 3, whose scale
  // is 2 and whose quotients are -127 and 1.5.
  std::vector<float> values;
  for (int i = 0; i < 128; ++i) values.push_back(static_cast<float>(i));
  values.push_back(-254);
  values.push_back(3);
  Tensor<uint16_t> x;
  CHECK(x.create({1, 130}, ACL_FLOAT16, to_halves(values)));
  Tensor<int8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({1, 130}, ACL_INT8));
  CHECK(scale.create_output({1, 2}, ACL_FLOAT));
  const double min_scale = 0, dst_type_max = 0;
  char round_mode[] = "rint";
  const int64_t rows = 1, columns = 128;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicBlockQuantV2GetWorkspaceSize(x.get(), min_scale, round_mode, ACL_INT8, rows,
                                                 columns, dst_type_max, y.get(), scale.get(),
                                                 &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicBlockQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
