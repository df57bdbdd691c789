// Every function where memory runs out, at any request: its second phase computes or leaves all
// outputs as they are, and its first phase says so.
#include "../failing_new.h"
#include "core/parallel.h"
#include "functions.h"
#include "opdev/op_errno.h"

namespace npu_quant::testing {
namespace {

class MemoryOfEveryFunction : public OnDevice, public ::testing::WithParamInterface<Function> {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_num_threads(3);
    set_shares_small_work(true);
  }
  void TearDown() override {
    set_shares_small_work(false);
    OnDevice::TearDown();
  }
};

// Strides with gaps, so that parameters have to be copied.
Parameters with_gaps(Parameters parameters) {
  for (Parameter& parameter : parameters) {
    const aclDataType dtype = parameter.tensor.dtype;
    if (!parameter.is_tensor || dtype == ACL_DT_UNDEFINED || is_packed(dtype)) continue;
    Dims& strides = parameter.tensor.strides = contiguous_strides(parameter.tensor.shape);
    for (int64_t& stride : strides) stride *= 2;
  }
  return parameters;
}

TEST_P(MemoryOfEveryFunction, IsAskedForBeforeAnythingIsWritten) {
  const Function& function = GetParam();
  const Call call(function, with_gaps(function.parameters));
  const auto read = [&] {
    Buffers all;
    for (size_t i = 0; i < call.tensors.size(); ++i)
      if (call.parameters[i].is_output() && call.tensors[i].get() != nullptr)
        all.push_back(call.tensors[i].block<char>());
    return all;
  };
  const Buffers before = read();
  const auto restore = [&] {
    auto next = before.begin();
    for (size_t i = 0; i < call.tensors.size(); ++i)
      if (call.parameters[i].is_output() && call.tensors[i].get() != nullptr)
        upload(call.tensors[i].address(), *next++);
  };
  for (const bool goes_on : {false, true})
    for (int64_t first = 0;; ++first) {
      SCOPED_TRACE(first);
      aclOpExecutor* const executor = prepare(call);
      aclnnStatus status = 0;
      bool has_failed = false;
      {
        const FailingNew failing(first, goes_on);
        status = function.phase2(nullptr, 0, executor, stream);
        has_failed = failing.has_failed();
      }
      if (status == 0)
        call.expect_results();
      else
        EXPECT_TRUE(has_failed && read() == before) << status;
      restore();
      if (!has_failed) break;
    }
}

TEST_P(MemoryOfEveryFunction, MayBeMissingInTheFirstPhase) {
  const Function& function = GetParam();
  const Call call(function);
  for (const bool goes_on : {false, true})
    for (int64_t first = 0;; ++first) {
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      aclnnStatus status = 0;
      bool has_failed = false;
      {
        const FailingNew failing(first, goes_on);
        status = call(&size, &executor);
        has_failed = failing.has_failed();
      }
      EXPECT_EQ(status == 0, executor != nullptr) << first;
      EXPECT_EQ(status == 0 ? aclDestroyAclOpExecutor(executor) : 0, 0);
      EXPECT_TRUE(has_failed || first > 0) << "the library has another operator new";
      if (!has_failed) break;
    }
}

INSTANTIATE_TEST_SUITE_P(All, MemoryOfEveryFunction, ::testing::ValuesIn(all_functions()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace npu_quant::testing
