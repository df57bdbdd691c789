// Calls at the edge of what can be asked: every one gets its code and its words, and soon.
#include <sys/resource.h>

#include <chrono>
#include <string>

#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_dynamic_quant_v2.h"
#include "functions.h"

namespace npu_quant::testing {
namespace {

using Codes = std::vector<int8_t>;

using Robustness = OnDevice;

// y of 6 codes, 2^35 bytes apart and more.
TEST_F(Robustness, WideStridesTakeNeitherTimeNorMemory) {
  const auto most_used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  const Tensor x = ones({2, 3}, ACL_FLOAT), scale = ones({2}, ACL_FLOAT);
  const Dims dims = {2, 3}, strides = {(int64_t{1} << 35) + 1, int64_t{1} << 35};
  const Block small(Codes(64));
  for (void* const address : {static_cast<void*>(nullptr), small.address()}) {
    aclTensor* const y = aclCreateTensor(dims.data(), 2, ACL_INT8, strides.data(), 0, ACL_FORMAT_ND,
                                         dims.data(), 2, address);
    const auto phase1 = [&](uint64_t* size, aclOpExecutor** executor) {
      return aclnnDynamicQuantGetWorkspaceSize(x.get(), nullptr, y, scale.get(), size, executor);
    };
    const auto begin = std::chrono::steady_clock::now();
    const long before = most_used();
    status_of(phase1);  // any code
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_LT(most_used() - before, 500 << 10);
    EXPECT_EQ(aclDestroyTensor(y), 0);
  }
}

// Zero points are data, which phase 2 is the first to see.
TEST_F(Robustness, ElementsAreJudgedInTheSecondPhase) {
  const Function channels = functions_of("aclnnFakeQuantPerChannelAffineCachemask")[0];
  const Call call(channels, {{"zeroPoint", {ACL_INT32, {3}, {0, 8, 0}}}});
  EXPECT_EQ(run(stream, channels.phase2, call), 161002);
}

// They come after phase 1, and nobody judges them: a row has the first expert whose end is beyond
// it, or the last one.
TEST_F(Robustness, EndsOfGroupsAreReadInTheSecondPhase) {
  const Function function = functions_of("aclnnDynamicQuantV2")[0];
  const Call call(function, {{"x", {ACL_FLOAT16, {3, 1}, {127, 127, 127}}},
                             {"smoothScalesOptional", {ACL_FLOAT16, {3, 1}, {1, 2, 4}}},
                             {"groupIndexOptional", {ACL_INT32, {3}, {9, 9, 9}}},
                             {"yOut", {ACL_INT8, {3, 1}, {127, 127, 127}}},
                             {"scaleOut", {ACL_FLOAT, {3}, {2, 4, 4}}}});
  aclOpExecutor* const executor = prepare(call);
  upload<int32_t>(call.tensors[2].address(), {-7, 1, std::numeric_limits<int32_t>::min()});
  EXPECT_EQ(function.phase2(nullptr, 0, executor, stream), 0);
  call.expect_results();
}

TEST_F(Robustness, PrivateFormatsAreRefused) {
  const Call call(functions_of("aclnnDynamicQuantV1")[0]);
  const int64_t dims[] = {2, 4};
  const auto describe = [&](aclFormat format) {
    EXPECT_EQ(aclInitTensor(call.tensors[0].get(), dims, 2, ACL_FLOAT16, nullptr, 0, format, dims,
                            2, call.tensors[0].address()),
              0);
  };
  for (const aclFormat format : {ACL_FORMAT_FRACTAL_NZ, ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_Z}) {
    describe(format);
    expect_refused(call, 161002, "x");
  }
  describe(ACL_FORMAT_NC);
  EXPECT_EQ(status_of(call), 0);
}

// Counted in bytes these numbers wrap around to next to nothing.
TEST(Counts, ThatWrapAround) {
  const int64_t values[2] = {1, 1};
  const float floats[2] = {};
  const aclTensor* const tensors[2] = {};
  const uint64_t many = uint64_t{1} << 61;
  for (const uint64_t count : {many + 1, many, ~uint64_t{0}}) {
    EXPECT_EQ(
        aclCreateTensor(values, count, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, values, 1, nullptr),
        nullptr);
    EXPECT_EQ(
        aclCreateTensor(values, count, ACL_FLOAT, values, 0, ACL_FORMAT_ND, values, 1, nullptr),
        nullptr);
    EXPECT_EQ(
        aclCreateTensor(values, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, values, count, nullptr),
        nullptr);
    EXPECT_EQ(aclCreateIntArray(values, count), nullptr);
    EXPECT_EQ(aclCreateFloatArray(floats, 2 * count), nullptr);
    EXPECT_EQ(aclCreateTensorList(tensors, count), nullptr);
  }
}

TEST_F(Robustness, TheDevicesOwnContextStays) {
  aclrtContext own = nullptr, found = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&own), 0);
  EXPECT_EQ(aclrtDestroyContext(own), 107000);
  EXPECT_EQ(aclrtSetCurrentContext(own), 0);
  EXPECT_EQ(aclrtGetCurrentContext(&found), 0);
  EXPECT_EQ(found, own);
  aclrtStream another = nullptr;
  EXPECT_EQ(aclrtCreateStream(&another), 0);
  EXPECT_EQ(aclrtDestroyStream(another), 0);
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
}

TEST(Configuration, AFolderIsNone) {
  EXPECT_EQ(aclInit("/"), 100003);
  EXPECT_EQ(aclFinalize(), 100037);
}

// The one message of a call to aclnnDynamicQuantV2 for x.
std::string message_for(const Dims& shape, int dtype, const int64_t* strides) {
  while (aclGetRecentErrMsg() != nullptr) continue;
  const Block block(Codes(64));
  aclTensor* const x =
      aclCreateTensor(shape.data(), shape.size(), static_cast<aclDataType>(dtype), strides, 0,
                      ACL_FORMAT_ND, shape.data(), shape.size(), block.address());
  const Tensor y = ones({2, 3}, ACL_INT8), scale = ones({2}, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnDynamicQuantV2GetWorkspaceSize(x, nullptr, nullptr, ACL_INT8, y.get(), scale.get(),
                                                nullptr, &size, &executor),
            161002);
  EXPECT_EQ(aclDestroyTensor(x), 0);
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? "" : message;
}

void expect_end(const std::string& text, const std::string& end) {
  ASSERT_GE(text.size(), end.size()) << text;
  EXPECT_EQ(text.substr(text.size() - end.size()), end) << text;
}

TEST_F(Robustness, MessagesUseWordsAsWords) {
  const int64_t strides[] = {3, -1};
  expect_end(message_for({2, 3}, ACL_FLOAT, strides), ": x has a negative stride or offset.");
}

TEST_F(Robustness, MessagesOfShapesWhoseStridesOverflow) {
  const std::string text = message_for({4, int64_t{1} << 40, int64_t{1} << 40}, ACL_FLOAT, nullptr);
  EXPECT_NE(text.find(": x has more elements than can be addressed"), text.npos) << text;
}

TEST_F(Robustness, MessagesOfUnknownDtypes) {
  const std::string text = message_for({2, 3}, 99, nullptr);
  EXPECT_NE(text.find("x has dtype unknown"), text.npos) << text;
}

TEST_F(Robustness, MessagesQuoteTheCaller) {
  const std::pair<const char*, const char*> modes[] = {{"r'self None", "'r'self None'"},
                                                       {"x_out float16'", "'x_out float16''"},
                                                       {"a\nself\n\r\tb", " roundMode is 'a"}};
  for (const Function& function : functions_of("aclnnAscendQuant"))
    for (const auto& [mode, quoted] : modes) {
      while (aclGetRecentErrMsg() != nullptr) continue;
      EXPECT_EQ(status_of(Call(function, {{"roundMode", mode}})), 161002);
      const char* message = aclGetRecentErrMsg();
      ASSERT_NE(message, nullptr);
      const std::string text = message;
      EXPECT_NE(text.find(quoted), text.npos) << text;
      EXPECT_EQ(text.find_first_of("\n\r"), text.npos) << text;
      EXPECT_EQ(text.compare(0, 5, "[PID:"), 0) << text;
    }
}

}  // namespace
}  // namespace npu_quant::testing
