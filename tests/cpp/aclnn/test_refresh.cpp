// Executors that run again, on other addresses.
#include <gtest/gtest.h>

#include "calls.h"
#include "opdev/op_errno.h"

namespace npu_quant::testing {
namespace {

using SetAddress = aclnnStatus (*)(aclOpExecutor*, size_t, aclTensor*, void*);
using SetListAddress = aclnnStatus (*)(aclOpExecutor*, size_t, size_t, aclTensorList*, void*);

// Each as it is spelled in the older and in the newer way.
constexpr SetAddress kSetInput[] = {aclSetInputTensorAddr, AclSetInputTensorAddr};
constexpr SetAddress kSetOutput[] = {aclSetOutputTensorAddr, AclSetOutputTensorAddr};
constexpr SetAddress kSetAny[] = {aclSetTensorAddr, AclSetTensorAddr};
constexpr SetListAddress kSetOfList[] = {
    aclSetDynamicInputTensorAddr, aclSetDynamicOutputTensorAddr, aclSetDynamicTensorAddr,
    AclSetDynamicInputTensorAddr, AclSetDynamicOutputTensorAddr, AclSetDynamicTensorAddr};

// A repeatable executor of aclnnDynamicQuant: input 0 is x, 1 is NULL; output 0 is y, 1 is scale.
class Refresh : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    executor = prepare(call);
    ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  }
  void TearDown() override {
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_INNER);
    OnDevice::TearDown();
  }
  aclnnStatus run_again() { return aclnnDynamicQuant(nullptr, 0, executor, stream); }

  const DynamicQuantCall call;
  aclOpExecutor* executor = nullptr;
};

TEST_F(Refresh, ARepeatableExecutorRunsAgain) {
  for (const float factor : {1.0f, 4.0f, 0.5f}) {
    upload(call.x.address(), DynamicQuantCall::values(factor));
    EXPECT_EQ(run_again(), 0);
    call.expect_results(factor);
  }
}

TEST_F(Refresh, ItSurvivesWhatFails) {
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, executor, unknown_handle<aclrtStream>()),
            ACLNN_ERR_INNER);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  EXPECT_TRUE(call.is_untouched());
  EXPECT_EQ(run_again(), 0);
  call.expect_results();
}

TEST_F(Refresh, ItDoesNotSurviveAMissingWorkspace) {
  const AntiQuantCall anti;
  aclOpExecutor* repeatable = prepare(anti);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(repeatable), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 8, repeatable, stream), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, repeatable, stream), ACLNN_ERR_INNER);
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), ACLNN_ERR_INNER);
}

// Runs on the call's tensors, then with each address replaced by the two setters.
class RefreshBy : public Refresh {
 protected:
  void expect_new_addresses(SetAddress set_input, SetAddress set_output, size_t first_output) {
    const DynamicQuantCall other(8);
    EXPECT_EQ(set_input(executor, 0, call.x.get(), other.x.address()), 0);
    EXPECT_EQ(set_output(executor, first_output, call.y.get(), other.y.address()), 0);
    EXPECT_EQ(set_output(executor, first_output + 1, call.scale.get(), other.scale.address()), 0);
    EXPECT_EQ(run_again(), 0);
    other.expect_results(8);
  }
};

TEST_F(RefreshBy, InputsAndOutputs) {
  EXPECT_EQ(run_again(), 0);
  call.expect_results(1);
  for (size_t spelling : {0, 1}) expect_new_addresses(kSetInput[spelling], kSetOutput[spelling], 0);
  call.expect_results(1);  // as the first run left it
}

TEST_F(RefreshBy, OneNumberForAll) {
  EXPECT_EQ(run_again(), 0);
  for (const SetAddress set : kSetAny) expect_new_addresses(set, set, 2);
  call.expect_results(1);
}

TEST_F(Refresh, TheTensorKeepsItsAddress) {
  const DynamicQuantCall other(8);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, call.x.get(), other.x.address()), 0);
  void* address = nullptr;
  EXPECT_EQ(aclGetRawTensorAddr(call.x.get(), &address), 0);
  EXPECT_EQ(address, call.x.address());
  EXPECT_EQ(run_again(), 0);
  call.expect_results(8);
}

TEST_F(Refresh, ExecutorAndTensorMustBeThere) {
  for (const auto& setters : {kSetInput, kSetOutput, kSetAny}) {
    for (size_t spelling : {0, 1}) {
      const SetAddress set = setters[spelling];
      EXPECT_EQ(set(nullptr, 0, call.x.get(), call.x.address()), ACLNN_ERR_INNER_NULLPTR);
      EXPECT_EQ(set(executor, 0, nullptr, call.x.address()), ACLNN_ERR_INNER_NULLPTR);
      EXPECT_EQ(set(unknown_handle<aclOpExecutor*>(), 0, call.x.get(), call.x.address()),
                ACLNN_ERR_INNER);
      EXPECT_NE(set(executor, 0, unknown_handle<aclTensor*>(), call.x.address()), 0);
    }
  }
  EXPECT_EQ(run_again(), 0);
  call.expect_results();
}

TEST_F(Refresh, TheIndexMustBeThatOfTheTensor) {
  const DynamicQuantCall other(8);
  void* address = other.x.address();
  for (size_t spelling : {0, 1}) {
    for (const size_t index : {size_t{1}, size_t{2}, SIZE_MAX})  // 1 was NULL
      EXPECT_EQ(kSetInput[spelling](executor, index, call.x.get(), address),
                ACLNN_ERR_PARAM_INVALID);
    for (const size_t index : {size_t{2}, size_t{3}, SIZE_MAX})
      EXPECT_EQ(kSetOutput[spelling](executor, index, call.y.get(), address),
                ACLNN_ERR_PARAM_INVALID);
    for (const size_t index : {size_t{1}, size_t{4}, SIZE_MAX})
      EXPECT_EQ(kSetAny[spelling](executor, index, call.x.get(), address), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(kSetOutput[spelling](executor, 0, call.scale.get(), address),
              ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(kSetInput[spelling](executor, 0, other.x.get(), address), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(kSetAny[spelling](executor, 0, call.y.get(), address), ACLNN_ERR_PARAM_INVALID);
  }
  EXPECT_EQ(run_again(), 0);
  call.expect_results(1);  // nothing was replaced
}

TEST_F(Refresh, NoOperatorHasLists) {
  aclTensor* const element = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                                             nullptr, 0, call.x.address());
  aclTensorList* list = aclCreateTensorList(&element, 1);
  void* address = call.x.address();
  for (const SetListAddress set : kSetOfList) {
    EXPECT_EQ(set(nullptr, 0, 0, list, address), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(set(executor, 0, 0, nullptr, address), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(set(unknown_handle<aclOpExecutor*>(), 0, 0, list, address), ACLNN_ERR_INNER);
    EXPECT_EQ(set(executor, 0, 0, list, address), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(set(executor, SIZE_MAX, SIZE_MAX, list, address), ACLNN_ERR_PARAM_INVALID);
  }
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  EXPECT_EQ(run_again(), 0);
  call.expect_results();
}

TEST_F(Refresh, NewAddressesAreCheckedToo) {
  const DynamicQuantCall other(8);
  const Block small(std::vector<float>{1.0f});
  const DynamicQuantCall tall(1, 100);
  aclOpExecutor* large = prepare(tall);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(large), 0);
  EXPECT_EQ(aclSetInputTensorAddr(large, 0, tall.x.get(), small.address()), 0);
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, large, stream), ACLNN_ERR_INNER);
  EXPECT_TRUE(tall.is_untouched());
  EXPECT_EQ(aclSetInputTensorAddr(large, 0, tall.x.get(), tall.x.address()), 0);
  EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, large, stream), 0);
  tall.expect_results();
  EXPECT_EQ(aclDestroyAclOpExecutor(large), 0);

  EXPECT_EQ(aclSetOutputTensorAddr(executor, 0, call.y.get(), call.x.address()), 0);
  EXPECT_EQ(run_again(), ACLNN_ERR_INNER);
  EXPECT_EQ(call.x.host<float>(), DynamicQuantCall::values(1));
  EXPECT_EQ(aclSetOutputTensorAddr(executor, 0, call.y.get(), other.y.address()), 0);
  EXPECT_EQ(run_again(), 0);
  DynamicQuantCall::expect_results(1, other.y.host<int8_t>(), call.scale.host<float>());
}

// The codes of an operator that tells its faults apart.
TEST_F(Refresh, FaultsOfNewAddresses) {
  const AntiQuantCall anti;
  aclOpExecutor* repeatable = prepare(anti);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(repeatable), 0);
  EXPECT_EQ(aclSetOutputTensorAddr(repeatable, 0, anti.y.get(), nullptr), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, repeatable, stream), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclSetOutputTensorAddr(repeatable, 0, anti.y.get(), anti.x.address()), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, repeatable, stream), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetTensorAddr(repeatable, 3, anti.y.get(), anti.y.address()), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, repeatable, stream), 0);
  EXPECT_EQ(anti.result(), AntiQuantCall::expected());
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
}

// A tensor that is two arguments has an address for each.
TEST_F(Refresh, OneTensorInTwoPlaces) {
  const AntiQuantCall anti;
  const Tensor& one = anti.scale;
  aclOpExecutor* repeatable = prepare([&](uint64_t* size, aclOpExecutor** made) {
    return aclnnAscendAntiQuantGetWorkspaceSize(anti.x.get(), one.get(), one.get(), ACL_FLOAT16,
                                                false, anti.y.get(), size, made);
  });
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(repeatable), 0);
  const Block two(std::vector<float>{2.0f});
  EXPECT_EQ(aclSetInputTensorAddr(repeatable, 1, one.get(), two.address()), 0);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, repeatable, stream), 0);
  EXPECT_EQ(anti.result(), (std::vector<uint16_t>{0x4000, 0x4400, 0x4600, 0x4800, 0x4900, 0x4A00,
                                                  0x4B00, 0x4C00}));  // (x + 1) * 2
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
}

TEST_F(Refresh, DestroyedTensorsLeaveTheExecutorAsItWas) {
  DynamicQuantCall own(2);
  aclOpExecutor* repeatable = prepare(own);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(repeatable), 0);
  EXPECT_EQ(own.x.destroy(), 0);
  EXPECT_EQ(own.y.destroy(), 0);
  EXPECT_EQ(own.scale.destroy(), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(aclnnDynamicQuant(nullptr, 0, repeatable, stream), 0);
  own.expect_results(2);
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
}

}  // namespace
}  // namespace npu_quant::testing
