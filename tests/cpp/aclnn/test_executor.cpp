// The contract of the two phases, with operators whose results are known by hand.
#include <gtest/gtest.h>

#include <set>

#include "calls.h"
#include "opdev/op_errno.h"

namespace npu_quant::testing {
namespace {

using Executor = OnDevice;

TEST_F(Executor, TwoPhases) {
  const DynamicQuantCall quantize(2);
  aclOpExecutor* executor = prepare(quantize);
  EXPECT_TRUE(quantize.is_untouched());
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  quantize.expect_results(2);
  const AntiQuantCall dequantize;
  EXPECT_EQ(run(stream, aclnnAscendAntiQuant, dequantize), 0);
  EXPECT_EQ(dequantize.result(), AntiQuantCall::expected());
}

TEST_F(Executor, TheDefaultStream) {
  const AntiQuantCall call;
  EXPECT_EQ(run(nullptr, aclnnAscendAntiQuant, call), 0);
  EXPECT_EQ(call.result(), AntiQuantCall::expected());
}

TEST(ExecutorWithoutDevice, TheDefaultStreamNeedsNone) {
  const AntiQuantCall call;
  aclOpExecutor* executor = prepare(call);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, nullptr), 0);
  EXPECT_EQ(call.result(), AntiQuantCall::expected());
}

TEST_F(Executor, IsConsumedByTheSecondPhase) {
  const AntiQuantCall call;
  aclOpExecutor* executor = prepare(call);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_INNER);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, call.x.get(), call.x.address()), ACLNN_ERR_INNER);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_INNER);
}

TEST_F(Executor, IsConsumedAlsoByOneThatFails) {
  const AntiQuantCall call;
  aclOpExecutor* executor = prepare(call);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 8, executor, stream), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  executor = prepare(call);
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);  // not its own
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  executor = prepare(call);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, unknown_handle<aclrtStream>()),
            ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  EXPECT_EQ(call.result(), AntiQuantCall::untouched());
}

TEST_F(Executor, NoneOrUnknown) {
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, nullptr, stream), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, nullptr, stream), ACLNN_ERR_INNER);
  auto* unknown = unknown_handle<aclOpExecutor*>();
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, unknown, stream), ACLNN_ERR_INNER);
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, unknown, stream), ACLNN_ERR_INNER);
  EXPECT_EQ(aclDestroyAclOpExecutor(unknown), ACLNN_ERR_INNER);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(unknown), ACLNN_ERR_INNER);
  EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), ACLNN_ERR_INNER_NULLPTR);
}

TEST_F(Executor, ThatNeverRanIsDestroyedOnce) {
  const AntiQuantCall call;
  aclOpExecutor* executor = prepare(call);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_INNER);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  EXPECT_EQ(call.result(), AntiQuantCall::untouched());
}

TEST_F(Executor, HandlesAreNeverGivenAgain) {
  const AntiQuantCall call;
  std::set<aclOpExecutor*> seen;
  for (int i = 0; i < 1000; ++i) {
    aclOpExecutor* executor = prepare(call);
    EXPECT_TRUE(seen.insert(executor).second);
    ASSERT_EQ(aclDestroyAclOpExecutor(executor), 0);
  }
  for (aclOpExecutor* executor : seen)
    EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
}

TEST_F(Executor, AWorkspaceOfSomeSizeMustBeThere) {
  const AntiQuantCall call;
  const Block workspace(std::vector<int8_t>(64));
  EXPECT_EQ(aclnnAscendAntiQuant(workspace.address(), 64, prepare(call), stream), 0);
  EXPECT_EQ(call.result(), AntiQuantCall::expected());
  const DynamicQuantCall other;
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 1, prepare(call), stream), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 1, prepare(other), stream), ACLNN_ERR_INNER);
  EXPECT_TRUE(other.is_untouched());
}

TEST_F(Executor, TheStreamMustBeAlive) {
  aclrtStream old = nullptr;
  ASSERT_EQ(aclrtCreateStream(&old), 0);
  ASSERT_EQ(aclrtDestroyStream(old), 0);
  const AntiQuantCall call;
  const DynamicQuantCall other;
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, prepare(call), old), ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, prepare(other), old), ACLNN_ERR_INNER);
  EXPECT_EQ(call.result(), AntiQuantCall::untouched());
  EXPECT_TRUE(other.is_untouched());
}

TEST_F(Executor, TensorsMayGoBetweenThePhases) {
  AntiQuantCall call;
  aclOpExecutor* executor = prepare(call);
  for (Tensor* tensor : {&call.x, &call.scale, &call.offset, &call.y})
    EXPECT_EQ(tensor->destroy(), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(call.result(), AntiQuantCall::expected());
}

TEST_F(Executor, TensorsMayBeDescribedAnewBetweenThePhases) {
  const AntiQuantCall call;
  aclOpExecutor* executor = prepare(call);
  const int64_t one = 1;
  EXPECT_EQ(
      aclInitTensor(call.x.get(), &one, 1, ACL_FLOAT, nullptr, 5, ACL_FORMAT_ND, &one, 1, nullptr),
      0);
  EXPECT_EQ(aclSetRawTensorAddr(call.y.get(), nullptr), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(call.result(), AntiQuantCall::expected());
}

TEST_F(Executor, DataIsReadInTheSecondPhase) {
  const AntiQuantCall call;
  aclOpExecutor* executor = prepare(call);
  upload<int8_t>(call.x.address(), {7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), 0);
  std::vector<uint16_t> backwards = AntiQuantCall::expected();
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(call.result(), backwards);
}

TEST_F(Executor, OneTensorMayBeSeveralArguments) {
  const Tensor two = device_tensor<float>({2}, {1}, ACL_FLOAT);
  const AntiQuantCall call;
  EXPECT_EQ(run(stream, aclnnAscendAntiQuant,
                [&](uint64_t* size, aclOpExecutor** executor) {
                  return aclnnAscendAntiQuantGetWorkspaceSize(call.x.get(), two.get(), two.get(),
                                                              ACL_FLOAT16, false, call.y.get(),
                                                              size, executor);
                }),
            0);
  EXPECT_EQ(call.result(), (std::vector<uint16_t>{0x4400, 0x4600, 0x4800, 0x4900, 0x4A00, 0x4B00,
                                                  0x4C00, 0x4C80}));  // 4 6 .. 18
}

TEST_F(Executor, EmptyInputsNeedNoMemory) {
  const Tensor x = device_tensor<float>({}, {0, 4}, ACL_FLOAT);
  const Tensor y = device_tensor<int8_t>({}, {0, 4}, ACL_INT8);
  const Tensor scale = device_tensor<float>({}, {0}, ACL_FLOAT);
  EXPECT_EQ(x.address(), nullptr);
  EXPECT_EQ(run(stream, aclnnDynamicQuant,
                [&](uint64_t* size, aclOpExecutor** executor) {
                  return aclnnDynamicQuantGetWorkspaceSize(x.get(), nullptr, y.get(), scale.get(),
                                                           size, executor);
                }),
            0);
}

// aclnnAscendAntiQuant, both phases, with these for the call's own.
aclnnStatus run_with(aclrtStream stream, const AntiQuantCall& call, const aclTensor* x,
                     const aclTensor* y) {
  return run(stream, aclnnAscendAntiQuant, [&](uint64_t* size, aclOpExecutor** executor) {
    return aclnnAscendAntiQuantGetWorkspaceSize(x, call.scale.get(), call.offset.get(), ACL_FLOAT16,
                                                false, y, size, executor);
  });
}

TEST_F(Executor, TensorsLargerThanTheirBlockAreRefused) {
  const AntiQuantCall call;
  const Tensor short_x = device_tensor<int8_t>({1, 2, 3}, {20, 10}, ACL_INT8);
  const Tensor long_x = device_tensor(std::vector<int8_t>(200), {20, 10}, ACL_INT8);
  const Tensor short_y = device_tensor<uint16_t>({1, 2, 3}, {20, 10}, ACL_FLOAT16);
  const Tensor long_y = device_output<uint16_t>({20, 10}, ACL_FLOAT16);
  EXPECT_EQ(run_with(stream, call, short_x.get(), long_y.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(run_with(stream, call, long_x.get(), short_y.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(long_y.host<uint16_t>(), std::vector<uint16_t>(200, 77));
  EXPECT_EQ(run_with(stream, call, long_x.get(), long_y.get()), 0);
}

TEST_F(Executor, OutputsThatShareMemoryAreRefused) {
  const AntiQuantCall call;
  const auto over_x = [&](int64_t offset) {
    const Dims shape = {4, 2};
    return aclCreateTensor(shape.data(), 2, ACL_FLOAT16, nullptr, offset, ACL_FORMAT_ND,
                           shape.data(), 2, call.x.address());
  };
  for (const int64_t offset : {0, 3}) {  // x is bytes 0 to 7
    aclTensor* y = over_x(offset);
    EXPECT_EQ(run_with(stream, call, call.x.get(), y), ACLNN_ERR_PARAM_INVALID) << offset;
    EXPECT_EQ(aclDestroyTensor(y), 0);
  }
  EXPECT_EQ(call.x.host<int8_t>(), (std::vector<int8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  aclTensor* y = over_x(4);
  EXPECT_EQ(run_with(stream, call, call.x.get(), y), 0);
  EXPECT_EQ(aclDestroyTensor(y), 0);
}

}  // namespace
}  // namespace npu_quant::testing
