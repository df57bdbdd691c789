// aclnnDynamicBlockQuantV2 to float8: codes of FLOAT8_E4M3FN, a scale for 128 rows of 128 columns,
// as weights of DeepSeek's models have.
#include "aclnnop/aclnn_dynamic_block_quant_v2.h"

#include "common.h"

int main() {
  Device device;
  CHECK(device.open());

  // A block of 128 columns: 448 and ones, whose scale is 448 / 448 and whose codes are those of 448
  // and 1. What is left of both rows: 896 and 2, -4 and 0, whose scale is 2.
  std::vector<float> values(2 * 130, 1);
  values[0] = 448;
  values[128] = 896;
  values[129] = 2;
  values[130 + 128] = -4;
  values[130 + 129] = 0;
  Tensor<uint16_t> x;
  CHECK(x.create({2, 130}, ACL_FLOAT16, to_halves(values)));
  Tensor<uint8_t> y;
  Tensor<float> scale;
  CHECK(y.create_output({2, 130}, ACL_FLOAT8_E4M3FN));
  CHECK(scale.create_output({1, 2}, ACL_FLOAT));
  const double min_scale = 0, dst_type_max = 0;
  char round_mode[] = "rint";
  const int64_t rows = 128, columns = 128;

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicBlockQuantV2GetWorkspaceSize(x.get(), min_scale, round_mode, ACL_FLOAT8_E4M3FN,
                                                 rows, columns, dst_type_max, y.get(), scale.get(),
                                                 &workspace_size, &executor));
  DeviceMemory workspace;
  CHECK(workspace.allocate(workspace_size));
  CHECK(aclnnDynamicBlockQuantV2(workspace.address(), workspace_size, executor, device.stream()));
  CHECK(aclrtSynchronizeStream(device.stream()));

  CHECK(print("result", y));
  CHECK(print("scale", scale));
  return 0;
}
