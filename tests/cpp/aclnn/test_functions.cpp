// Every function: its results, its first phase with arguments that are none, its second phase.
#include <algorithm>
#include <regex>

#include "../reference.h"
#include "functions.h"
#include "opdev/op_errno.h"

namespace npu_quant::testing {
namespace {

class EveryFunction : public OnDevice, public ::testing::WithParamInterface<Function> {
 protected:
  // Phase 1 refuses the call for that argument.
  void expect_refused(const Call& with, const std::string& argument, const std::string& what,
                      aclnnStatus code = ACLNN_ERR_PARAM_NULLPTR) {
    testing::expect_refused(with, code, "): " + function.name() + ": " + argument + " " + what);
  }
  void expect_taken(const Call& with) {
    SCOPED_TRACE(name_of(active_target()));
    ASSERT_EQ(run(stream, function.phase2, with), 0);
    with.expect_results();
    EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  }
  // And leaves the bytes between the elements of each tensor.
  void expect_taken_apart(const Call& apart) {
    std::vector<std::vector<uint8_t>> before;
    for (const size_t i : indices) before.push_back(apart.tensors[i].block<uint8_t>());
    expect_taken(apart);
    for (size_t n = 0; n < indices.size(); ++n) {
      const Given& tensor = apart.parameters[indices[n]].tensor;
      if (tensor.strides.empty()) continue;
      const size_t bytes = aclDataTypeSize(tensor.dtype);
      std::vector<uint8_t> after = apart.tensors[indices[n]].block<uint8_t>();
      for (const int64_t at : positions(tensor.shape, tensor.strides, tensor.offset))
        std::copy_n(before[n].begin() + at * static_cast<int64_t>(bytes), bytes,
                    after.begin() + at * static_cast<int64_t>(bytes));
      EXPECT_EQ(after, before[n]) << apart.parameters[indices[n]].name;
    }
  }

  const Function& function = GetParam();
  Call call{function};
  // Of the tensors that are given.
  const std::vector<size_t> indices = [this] {
    std::vector<size_t> given;
    for (size_t i = 0; i < call.tensors.size(); ++i)
      if (call.tensors[i].get() != nullptr) given.push_back(i);
    return given;
  }();
};

TEST_P(EveryFunction, ComputesWhatIsKnownByHand) {
  on_every_target([&] { expect_taken(Call(function)); });
}

// Each tensor lies in a block of its own, with gaps, whose bytes stay; but two codes to a byte
// follow on each other.
TEST_P(EveryFunction, TakesAnyStridesAndLeavesWhatLiesBetween) {
  Parameters changes = function.parameters;
  for (Parameter& parameter : changes) {
    const aclDataType dtype = parameter.tensor.dtype;
    if (!parameter.is_tensor || dtype == ACL_DT_UNDEFINED || is_packed(dtype)) continue;
    Dims& strides = parameter.tensor.strides = contiguous_strides(parameter.tensor.shape);
    std::reverse(strides.begin(), strides.end());
    for (size_t i = 0; i < strides.size(); ++i) strides[i] = strides[i] * 2 + (i == 0 ? 9 : 0);
    parameter.tensor.offset = 3;
  }
  on_every_target([&] { expect_taken_apart(Call(function, changes)); });
}

// Names of rounding and of modes are the caller's to change after phase 1.
TEST_P(EveryFunction, CopiesStrings) {
  std::vector<std::string> strings(call.parameters.size());
  for (size_t i = 0; i < strings.size(); ++i) {
    const Attribute& attribute = call.parameters[i].attribute;
    if (call.parameters[i].is_tensor || !std::holds_alternative<const char*>(attribute)) continue;
    if (std::get<const char*>(attribute) == nullptr) continue;  // a list, too
    strings[i] = std::get<const char*>(attribute);
    call.arguments[i] = Attribute(strings[i].c_str());
  }
  aclOpExecutor* const executor = prepare(call);
  for (std::string& string : strings) std::fill(string.begin(), string.end(), 'x');
  EXPECT_EQ(function.phase2(nullptr, 0, executor, stream), 0);
  call.expect_results();
}

TEST_P(EveryFunction, NullIsForTheOptionalOnes) {
  for (const size_t i : indices) {
    SCOPED_TRACE(call.parameters[i].name);
    Call changed(function);
    changed.arguments[i] = static_cast<aclTensor*>(nullptr);
    if (call.parameters[i].may_be_null)
      EXPECT_EQ(run(stream, function.phase2, changed), 0);
    else
      expect_refused(changed, call.parameters[i].own_name(), "is NULL.");
  }
}

TEST_P(EveryFunction, RefusesTensorsThatAreNoneOrGone) {
  int here = 0;
  for (const size_t i : indices) {
    Call changed(function);
    changed.arguments[i] = reinterpret_cast<aclTensor*>(&here);
    expect_refused(changed, call.parameters[i].name, "is not a live tensor.");
    Tensor destroyed = device_output<double>({16}, ACL_DOUBLE);
    changed.arguments[i] = destroyed.get();
    EXPECT_EQ(destroyed.destroy(), 0);
    expect_refused(changed, call.parameters[i].name, "is not a live tensor.");
  }
}

// Their bytes are fewer than an int64 counts, those of results made of them may be more.
TEST_P(EveryFunction, RefusesInputsThatNoMemoryHolds) {
  for (const size_t i : indices) {
    const Parameter& parameter = call.parameters[i];
    if (parameter.is_output() || parameter.tensor.shape.empty()) continue;
    Dims shape = parameter.tensor.shape;
    shape[0] = int64_t{1} << 53;
    const Tensor huge(Block(std::vector<int8_t>(64)), shape, contiguous_strides(shape), 0,
                      parameter.tensor.dtype);
    Call changed(function);
    changed.arguments[i] = huge.get();
    expect_refused(changed, parameter.name, "has shape (9007199254740992,", function.shape_code);
  }
}

// Whatever number of axes another has: no axis is looked at that is not there.
TEST_P(EveryFunction, RefusesEveryRankThatIsTooHigh) {
  for (const size_t i : indices)
    for (const size_t rank : {size_t{9}, size_t{1} << 16}) {
      const Dims ones(rank, 1);
      const Tensor high(Block(std::vector<int8_t>(64)), ones, ones, 0,
                        call.parameters[i].tensor.dtype);
      for (const size_t j : indices)
        for (size_t other = 0; other < 5; ++other) {
          const Dims few(other, 1);
          const Tensor low(Block(std::vector<int8_t>(64)), few, few, 0,
                           call.parameters[j].tensor.dtype);
          Arguments arguments = call.arguments;
          arguments[j] = low.get();
          arguments[i] = high.get();
          uint64_t size = 0;
          aclOpExecutor* executor = nullptr;
          EXPECT_NE(function.phase1(arguments, &size, &executor), 0) << i << ", " << j;
        }
    }
}

TEST_P(EveryFunction, RefusesOutputsThatShareMemory) {
  for (const size_t i : indices)
    for (const size_t j : indices) {
      const bool is_later = call.parameters[i].is_output();  // else inputs follow one that is both
      if (j >= i || (!is_later && !call.parameters[j].is_output())) continue;
      EXPECT_EQ(aclSetRawTensorAddr(call.tensors[i].get(), call.tensors[j].address()), 0);
      const std::string &output = call.parameters[is_later ? i : j].name,
                        &other = call.parameters[is_later ? j : i].name;
      expect_refused(call, output, "shares memory with " + other + ".", ACLNN_ERR_PARAM_INVALID);
      EXPECT_EQ(aclSetRawTensorAddr(call.tensors[i].get(), call.tensors[i].address()), 0);
    }
}

TEST_P(EveryFunction, TheResultsOfPhaseOneNeedAPlace) {
  uint64_t size = 12345;
  int here = 0;
  auto* const before = reinterpret_cast<aclOpExecutor*>(&here);
  aclOpExecutor* executor = before;
  for (const bool is_good : {true, false}) {
    for (Argument& argument : call.arguments)
      if (!is_good && std::holds_alternative<aclTensor*>(argument))
        argument = static_cast<aclTensor*>(nullptr);
    EXPECT_EQ(call(nullptr, &executor), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(call(&size, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(call(nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  }
  EXPECT_EQ(size, 12345U);
  EXPECT_EQ(executor, before);
}

TEST_P(EveryFunction, ItsSecondPhaseRunsItsOwnExecutorsOnly) {
  for (const Function& other : all_functions()) {
    if (other.name() == function.name()) continue;
    aclOpExecutor* const executor = prepare(call);
    EXPECT_EQ(other.phase2(nullptr, 0, executor, stream), ACLNN_ERR_INNER) << other.name();
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_INNER) << other.name();
  }
}

// Every fault of the second phase, and its code where the operator tells them apart.
TEST_P(EveryFunction, FaultsOfTheSecondPhase) {
  const bool one_code = std::string(function.family) == "aclnnDynamicQuant";
  const auto code = [&](aclnnStatus own) { return one_code ? ACLNN_ERR_INNER : own; };
  int here = 0;
  EXPECT_EQ(function.phase2(nullptr, 0, nullptr, stream), code(ACLNN_ERR_PARAM_NULLPTR));
  EXPECT_EQ(function.phase2(nullptr, 0, reinterpret_cast<aclOpExecutor*>(&here), stream),
            ACLNN_ERR_INNER);
  EXPECT_EQ(function.phase2(nullptr, 1, prepare(call), stream), code(ACLNN_ERR_PARAM_NULLPTR));
  aclOpExecutor* const executor = prepare(call);
  EXPECT_EQ(function.phase2(nullptr, 0, executor, &here), code(ACLNN_ERR_RUNTIME_ERROR));
  EXPECT_EQ(function.phase2(nullptr, 0, executor, stream), ACLNN_ERR_INNER);
  for (const size_t i : indices) {
    EXPECT_EQ(aclSetRawTensorAddr(call.tensors[i].get(), nullptr), 0);
    EXPECT_EQ(function.phase2(nullptr, 0, prepare(call), stream), code(ACLNN_ERR_PARAM_NULLPTR))
        << call.parameters[i].name;
    EXPECT_EQ(aclSetRawTensorAddr(call.tensors[i].get(), call.tensors[i].address()), 0);
  }
}

// Tensors that are NULL have their places, too.
TEST_P(EveryFunction, EachTensorHasItsPlaceForNewAddresses) {
  const Call other(function);
  aclOpExecutor* const executor = prepare(call);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  for (const size_t i : indices) {
    const auto index = static_cast<size_t>(
        std::count_if(call.parameters.begin(), call.parameters.begin() + static_cast<int64_t>(i),
                      [](const Parameter& before) { return before.is_tensor; }));
    aclTensor* const tensor = call.tensors[i].get();
    EXPECT_EQ(aclSetTensorAddr(executor, index, tensor, other.tensors[i].address()), 0)
        << call.parameters[i].name;
    EXPECT_EQ(aclSetTensorAddr(executor, index + 1, tensor, other.tensors[i].address()),
              ACLNN_ERR_PARAM_INVALID)
        << call.parameters[i].name;
  }
  EXPECT_EQ(function.phase2(nullptr, 0, executor, stream), 0);
  other.expect_results();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

INSTANTIATE_TEST_SUITE_P(All, EveryFunction, ::testing::ValuesIn(all_functions()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace npu_quant::testing
