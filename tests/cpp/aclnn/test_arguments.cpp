// What every operator says of arguments that are none: each NULL or stale in turn.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "opdev/op_errno.h"
#include "operators.h"

namespace npu_quant::testing {
namespace {

class EveryOperator : public OnDevice, public ::testing::WithParamInterface<Operator> {
 protected:
  // Phase 1 fails with the code, says so of the argument and leaves its outputs as they were.
  void expect_refused(const Handles& handles, const std::string& argument, const std::string& what,
                      aclnnStatus code = ACLNN_ERR_PARAM_NULLPTR) {
    uint64_t size = 12345;
    int here = 0;
    auto* const before = reinterpret_cast<aclOpExecutor*>(&here);
    aclOpExecutor* executor = before;
    EXPECT_EQ(op.phase1(handles, &size, &executor), code) << argument;
    EXPECT_EQ(size, 12345U);
    EXPECT_EQ(executor, before);
    const char* message = aclGetRecentErrMsg();
    ASSERT_NE(message, nullptr) << argument;
    const std::regex words("\\): " + op.name + ": " + argument + " " + what);
    EXPECT_TRUE(std::regex_search(message, words)) << argument << ": " << message;
  }
  aclOpExecutor* made(const Handles& handles) {
    return prepare([&](uint64_t* size, aclOpExecutor** executor) {
      return op.phase1(handles, size, executor);
    });
  }
  void expect_taken(const Handles& handles, const std::string& argument) {
    SCOPED_TRACE(argument);
    aclOpExecutor* const executor = made(handles);
    EXPECT_EQ(op.phase2(nullptr, 0, executor, stream), 0);
    EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  }

  const Operator& op = GetParam();
  std::vector<Tensor> tensors = tensors_of(op);
  const Handles handles = handles_of(tensors);
};

TEST_P(EveryOperator, RunsOnZeros) { expect_taken(handles, "all"); }

TEST_P(EveryOperator, NullIsForTheOptionalOnes) {
  for (size_t i = 0; i < handles.size(); ++i) {
    const Argument& argument = op.arguments[i];
    Handles changed = handles;
    changed[i] = nullptr;
    if (argument.may_be_null)
      expect_taken(changed, argument.name);
    else
      expect_refused(changed, argument.name, "is NULL\\.");
  }
}

TEST_P(EveryOperator, UnknownTensorsAreRefused) {
  int here = 0;
  for (size_t i = 0; i < handles.size(); ++i) {
    Handles changed = handles;
    changed[i] = reinterpret_cast<aclTensor*>(&here);
    expect_refused(changed, op.arguments[i].name, "is no live tensor\\.");
  }
}

TEST_P(EveryOperator, DestroyedTensorsAreRefused) {
  for (size_t i = 0; i < handles.size(); ++i) {
    Handles changed = handles;
    Tensor destroyed = device_output<double>({16}, ACL_DOUBLE);
    changed[i] = destroyed.get();
    EXPECT_EQ(destroyed.destroy(), 0);
    expect_refused(changed, op.arguments[i].name, "is no live tensor\\.");
  }
}

TEST_P(EveryOperator, OutputsThatShareMemoryAreRefused) {
  for (size_t i = 0; i < handles.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (!op.arguments[i].is_output()) continue;
      EXPECT_EQ(aclSetRawTensorAddr(handles[i], tensors[j].address()), 0);
      expect_refused(handles, op.arguments[i].name,
                     "shares memory with " + op.arguments[j].name + "\\.", ACLNN_ERR_PARAM_INVALID);
      EXPECT_EQ(aclSetRawTensorAddr(handles[i], tensors[i].address()), 0);
    }
}

TEST_P(EveryOperator, TheResultsOfPhaseOneNeedAPlace) {
  uint64_t size = 12345;
  int here = 0;
  auto* const before = reinterpret_cast<aclOpExecutor*>(&here);
  aclOpExecutor* executor = before;
  for (const Handles& given : {handles, Handles(handles.size(), nullptr)}) {
    EXPECT_EQ(op.phase1(given, nullptr, &executor), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(op.phase1(given, &size, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(op.phase1(given, nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  }
  EXPECT_EQ(size, 12345U);
  EXPECT_EQ(executor, before);
}

TEST_P(EveryOperator, ItsSecondPhaseRunsItsOwnExecutorsOnly) {
  for (const Operator& other : all_operators()) {
    if (other.name == op.name) continue;
    aclOpExecutor* const executor = made(handles);
    EXPECT_EQ(other.phase2(nullptr, 0, executor, stream), ACLNN_ERR_INNER) << other.name;
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_INNER) << other.name;
  }
}

// Every fault of the second phase, and its code where the operator tells them apart.
TEST_P(EveryOperator, FaultsOfTheSecondPhase) {
  const bool one_code = op.name.find("aclnnDynamicQuant") == 0;
  const auto code = [&](aclnnStatus own) { return one_code ? ACLNN_ERR_INNER : own; };
  int here = 0;
  EXPECT_EQ(op.phase2(nullptr, 0, nullptr, stream), code(ACLNN_ERR_PARAM_NULLPTR));
  EXPECT_EQ(op.phase2(nullptr, 0, reinterpret_cast<aclOpExecutor*>(&here), stream),
            ACLNN_ERR_INNER);
  EXPECT_EQ(op.phase2(nullptr, 1, made(handles), stream), code(ACLNN_ERR_PARAM_NULLPTR));
  aclOpExecutor* const executor = made(handles);
  EXPECT_EQ(op.phase2(nullptr, 0, executor, &here), code(ACLNN_ERR_RUNTIME_ERROR));
  EXPECT_EQ(op.phase2(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  for (size_t i = 0; i < handles.size(); ++i) {
    EXPECT_EQ(aclSetRawTensorAddr(handles[i], nullptr), 0);
    EXPECT_EQ(op.phase2(nullptr, 0, made(handles), stream), code(ACLNN_ERR_PARAM_NULLPTR))
        << op.arguments[i].name;
    EXPECT_EQ(aclSetRawTensorAddr(handles[i], tensors[i].address()), 0);
  }
}

TEST_P(EveryOperator, EachTensorHasItsPlaceForNewAddresses) {
  aclOpExecutor* const executor = made(handles);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  const bool has_gap = op.name.find("aclnnDynamicQuantV") == 0;  // the group index, which is NULL
  const std::vector<Tensor> others = tensors_of(op);
  for (size_t i = 0; i < handles.size(); ++i) {
    const size_t index = i + (has_gap && i >= 2 ? 1 : 0);
    EXPECT_EQ(aclSetTensorAddr(executor, index, handles[i], others[i].address()), 0)
        << op.arguments[i].name;
    EXPECT_EQ(aclSetTensorAddr(executor, index + 1, handles[i], others[i].address()),
              ACLNN_ERR_PARAM_INVALID)
        << op.arguments[i].name;
  }
  EXPECT_EQ(op.phase2(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

INSTANTIATE_TEST_SUITE_P(All, EveryOperator, ::testing::ValuesIn(all_operators()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace npu_quant::testing
