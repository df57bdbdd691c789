// Many threads at a time: operators, objects, and the end of an object.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "calls.h"
#include "opdev/op_errno.h"

namespace npu_quant::testing {
namespace {

constexpr int kThreads = 8;

// body(thread), in all threads at once.
void in_threads(const std::function<void(int)>& body) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting.load() > 0) std::this_thread::yield();
      body(i);
    });
  for (std::thread& thread : threads) thread.join();
}

// How many of the threads' calls said 0; the others say `otherwise`.
int successes(aclnnStatus otherwise, const std::function<aclnnStatus()>& call) {
  std::atomic<int> count{0};
  in_threads([&](int) {
    const aclnnStatus status = call();
    if (status == 0)
      ++count;
    else
      EXPECT_EQ(status, otherwise);
  });
  return count.load();
}

using Threads = OnDevice;

TEST_F(Threads, OperatorsOnTheirOwnStreams) {
  in_threads([](int thread) {
    aclrtStream own = nullptr;
    ASSERT_EQ(aclrtCreateStream(&own), 0);
    const auto factor = static_cast<float>(1 << thread);
    for (int i = 0; i < 200; ++i) {
      const DynamicQuantCall call(factor, 1 + thread);
      ASSERT_EQ(run(own, aclnnDynamicQuant, call), 0);
      call.expect_results(factor);
      const AntiQuantCall back;
      ASSERT_EQ(run(own, aclnnAscendAntiQuant, back), 0);
      ASSERT_EQ(back.result(), AntiQuantCall::expected());
    }
    EXPECT_EQ(aclrtDestroyStream(own), 0);
  });
}

TEST_F(Threads, OperatorsOnOneStream) {
  in_threads([this](int thread) {
    const auto factor = static_cast<float>(1 << thread);
    const DynamicQuantCall call(factor, 1000);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(run(stream, aclnnDynamicQuant, call), 0);
    call.expect_results(factor);
  });
}

TEST_F(Threads, RepeatableExecutorsOfTheirOwn) {
  in_threads([this](int thread) {
    const auto factor = static_cast<float>(1 << thread);
    const DynamicQuantCall call(1), other(factor);
    aclOpExecutor* executor = prepare(call);
    ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
    for (int i = 0; i < 200; ++i) {
      const DynamicQuantCall& source = i % 2 == 0 ? call : other;
      ASSERT_EQ(aclSetInputTensorAddr(executor, 0, call.x.get(), source.x.address()), 0);
      ASSERT_EQ(aclnnDynamicQuant(nullptr, 0, executor, stream), 0);
      call.expect_results(i % 2 == 0 ? 1 : factor);
    }
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  });
}

// Makes a tensor with that one dim, or destroys the last made one, as the numbers will have it.
class Workshop {
 public:
  explicit Workshop(unsigned seed) : random_(seed) {}
  ~Workshop() {
    while (!made_.empty()) destroy();
  }
  void step() {
    if (made_.size() < 50 && (made_.empty() || random_() % 2 == 0))
      make();
    else
      destroy();
  }

 private:
  struct Made {
    aclTensor* tensor;
    int64_t dim;
  };
  void make() {
    const auto dim = static_cast<int64_t>(random_());
    aclTensor* tensor =
        aclCreateTensor(&dim, 1, ACL_INT8, nullptr, dim, ACL_FORMAT_ND, &dim, 1, nullptr);
    EXPECT_NE(tensor, nullptr);
    made_.push_back({tensor, dim});
  }
  void destroy() {
    std::swap(made_[random_() % made_.size()], made_.back());
    const Made last = made_.back();
    made_.pop_back();
    int64_t* dims = nullptr;
    uint64_t count = 0;
    int64_t offset = 0;
    EXPECT_EQ(aclGetViewShape(last.tensor, &dims, &count), 0);
    EXPECT_EQ(std::vector<int64_t>(dims, dims + count), std::vector<int64_t>{last.dim});
    EXPECT_EQ(aclGetViewOffset(last.tensor, &offset), 0);
    EXPECT_EQ(offset, last.dim);
    EXPECT_EQ(aclDestroyTensor(last.tensor), 0);
    EXPECT_EQ(aclDestroyTensor(last.tensor), ACLNN_ERR_PARAM_NULLPTR);
    delete[] dims;
  }

  std::mt19937 random_;
  std::vector<Made> made_;
};

TEST_F(Threads, TensorsComeAndGoWhileOperatorsRun) {
  in_threads([this](int thread) {
    Workshop workshop(static_cast<unsigned>(thread));
    for (int i = 0; i < 2000; ++i) {
      workshop.step();
      if (i % 50 != 0) continue;
      const AntiQuantCall call;
      ASSERT_EQ(run(stream, aclnnAscendAntiQuant, call), 0);
      ASSERT_EQ(call.result(), AntiQuantCall::expected());
    }
  });
}

// A tensor that another thread may destroy at any time is refused or used, never half of it.
TEST_F(Threads, ATensorThatGoesWhileItIsUsed) {
  for (int round = 0; round < 50; ++round) {
    AntiQuantCall call;
    aclTensor* const x = call.x.get();
    in_threads([&](int thread) {
      if (thread == 0) {
        EXPECT_EQ(call.x.destroy(), 0);
        return;
      }
      const Tensor y = device_output<uint16_t>({4, 2}, ACL_FLOAT16);
      const aclnnStatus status =
          run(stream, aclnnAscendAntiQuant, [&](uint64_t* size, aclOpExecutor** executor) {
            return aclnnAscendAntiQuantGetWorkspaceSize(x, call.scale.get(), call.offset.get(),
                                                        ACL_FLOAT16, false, y.get(), size,
                                                        executor);
          });
      EXPECT_TRUE(status == 0 || status == ACLNN_ERR_PARAM_NULLPTR) << status;
      EXPECT_EQ(y.host<uint16_t>(),
                status == 0 ? AntiQuantCall::expected() : AntiQuantCall::untouched());
    });
  }
}

TEST_F(Threads, EachObjectIsDestroyedOnce) {
  for (int round = 0; round < 50; ++round) {
    const int64_t one = 1;
    const AntiQuantCall call;
    aclTensor* tensor =
        aclCreateTensor(&one, 1, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, &one, 1, nullptr);
    EXPECT_EQ(successes(ACLNN_ERR_PARAM_NULLPTR, [&] { return aclDestroyTensor(tensor); }), 1);
    aclIntArray* array = aclCreateIntArray(&one, 1);
    EXPECT_EQ(successes(ACLNN_ERR_PARAM_NULLPTR, [&] { return aclDestroyIntArray(array); }), 1);
    aclOpExecutor* executor = prepare(call);
    EXPECT_EQ(successes(ACLNN_ERR_INNER, [&] { return aclDestroyAclOpExecutor(executor); }), 1);
    aclrtStream own = nullptr;
    ASSERT_EQ(aclrtCreateStream(&own), 0);
    EXPECT_EQ(successes(ACL_ERROR_RT_PARAM_INVALID, [&] { return aclrtDestroyStream(own); }), 1);
    void* block = nullptr;
    ASSERT_EQ(aclrtMalloc(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(successes(ACL_ERROR_RT_PARAM_INVALID, [&] { return aclrtFree(block); }), 1);
  }
}

TEST_F(Threads, AnExecutorIsConsumedOnce) {
  const AntiQuantCall call;
  for (int round = 0; round < 50; ++round) {
    aclOpExecutor* executor = prepare(call);
    EXPECT_EQ(successes(ACLNN_ERR_INNER,
                        [&] { return aclnnAscendAntiQuant(nullptr, 0, executor, stream); }),
              1);
    EXPECT_EQ(call.result(), AntiQuantCall::expected());
  }
}

TEST_F(Threads, AListAndItsElementsAreDestroyedOnce) {
  for (int round = 0; round < 50; ++round) {
    const int64_t one = 1;
    aclTensor* const element =
        aclCreateTensor(&one, 1, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, &one, 1, nullptr);
    aclTensorList* list = aclCreateTensorList(&element, 1);
    std::atomic<int> lists{0}, elements{0};
    in_threads([&](int thread) {
      if (thread % 2 == 0)
        lists += aclDestroyTensorList(list) == 0;
      else
        elements += aclDestroyTensor(element) == 0;
    });
    EXPECT_EQ(lists, 1);
    EXPECT_LE(elements, 1);  // 0 where the list came first
    EXPECT_EQ(aclDestroyTensor(element), ACLNN_ERR_PARAM_NULLPTR);
  }
}

TEST(ThreadsOfTheRuntime, InitsAndFinalizesAreCounted) {
  in_threads([](int) {
    const aclError status = aclInit(nullptr);
    EXPECT_TRUE(status == ACL_SUCCESS || status == ACL_ERROR_REPEAT_INITIALIZE) << status;
  });
  EXPECT_EQ(successes(ACL_ERROR_REPEAT_FINALIZE, [] { return aclFinalizeReference(nullptr); }),
            kThreads);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
}

TEST(ThreadsOfTheRuntime, DevicesAreCounted) {
  in_threads([](int) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      aclrtContext context = nullptr;
      EXPECT_EQ(aclrtGetCurrentContext(&context), 0);
      EXPECT_EQ(aclrtSynchronizeDevice(), 0);
      ASSERT_EQ(aclrtResetDevice(0), 0);
    }
  });
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
}

}  // namespace
}  // namespace npu_quant::testing
