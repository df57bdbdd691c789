// aclGetRecentErrMsg: the frame of a message, their order, and whose they are.
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "calls.h"
#include "opdev/op_errno.h"

namespace npu_quant::testing {
namespace {

using Messages = OnDevice;

// All that there is to read, line by line.
std::vector<std::string> lines() {
  const char* text = aclGetRecentErrMsg();
  std::vector<std::string> result;
  std::istringstream stream(text == nullptr ? "" : text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A line has this title, code and reason in its frame.
void expect_framed(const std::string& line, const std::string& title, const std::string& code,
                   const std::string& reason) {
  const std::regex frame("\\[PID:" + std::to_string(getpid()) +
                         "\\] \\d{4}-\\d{2}-\\d{2}-\\d{2}:\\d{2}:\\d{2}\\.\\d{3} " + title + "\\(" +
                         code + "\\): " + reason);
  EXPECT_TRUE(std::regex_match(line, frame)) << line;
}

aclnnStatus dynamic_quant(const aclTensor* x, const aclTensor* y, const aclTensor* scale) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const aclnnStatus status =
      aclnnDynamicQuantGetWorkspaceSize(x, nullptr, y, scale, &size, &executor);
  if (status == 0) {
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  }
  return status;
}

TEST_F(Messages, OfAParameter) {
  const DynamicQuantCall call;
  EXPECT_EQ(dynamic_quant(nullptr, call.y.get(), call.scale.get()), ACLNN_ERR_PARAM_NULLPTR);
  const std::vector<std::string> read = lines();
  ASSERT_EQ(read.size(), 1U);
  expect_framed(read[0], "AclNN_Parameter_Error", "EZ1001", "aclnnDynamicQuant: x is NULL\\.");
}

TEST_F(Messages, OfTheRuntimeAndOfTheInside) {
  const AntiQuantCall call;
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, prepare(call), unknown_handle<aclrtStream>()),
            ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_EQ(aclnnAscendAntiQuant(nullptr, 0, unknown_handle<aclOpExecutor*>(), stream),
            ACLNN_ERR_INNER);
  const std::vector<std::string> read = lines();
  ASSERT_EQ(read.size(), 2U);
  expect_framed(read[0], "AclNN_Inner_Error", "EZ9999", "aclnnAscendAntiQuant: .+");
  expect_framed(read[1], "AclNN_Runtime_Error", "EZ9903", "aclnnAscendAntiQuant: .+");
}

TEST_F(Messages, AreReadOnce) {
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_NE(dynamic_quant(nullptr, nullptr, nullptr), 0);
  EXPECT_NE(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(Messages, SuccessHasNone) {
  const DynamicQuantCall call;
  EXPECT_EQ(run(stream, aclnnDynamicQuant, call), 0);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_NE(dynamic_quant(nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(run(stream, aclnnDynamicQuant, call), 0);
  EXPECT_EQ(lines().size(), 1U);  // and takes none away
}

TEST_F(Messages, TheNewestComesFirst) {
  const DynamicQuantCall call;
  EXPECT_NE(dynamic_quant(nullptr, call.y.get(), call.scale.get()), 0);
  EXPECT_NE(dynamic_quant(call.x.get(), nullptr, call.scale.get()), 0);
  EXPECT_NE(dynamic_quant(call.x.get(), call.y.get(), nullptr), 0);
  const std::vector<std::string> read = lines();
  ASSERT_EQ(read.size(), 3U);
  EXPECT_TRUE(contains(read[0], ": scaleOut")) << read[0];
  EXPECT_TRUE(contains(read[1], ": yOut")) << read[1];
  EXPECT_TRUE(contains(read[2], ": x ")) << read[2];
}

TEST_F(Messages, SixteenAreKept) {
  const DynamicQuantCall call;
  for (int i = 0; i < 4; ++i) EXPECT_NE(dynamic_quant(nullptr, call.y.get(), call.scale.get()), 0);
  for (int i = 0; i < 16; ++i) EXPECT_NE(dynamic_quant(call.x.get(), nullptr, call.scale.get()), 0);
  const std::vector<std::string> read = lines();
  EXPECT_EQ(read.size(), 16U);
  for (const std::string& line : read) EXPECT_TRUE(contains(line, "yOut")) << line;
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(Messages, StayValidUntilTheNextCall) {
  EXPECT_NE(dynamic_quant(nullptr, nullptr, nullptr), 0);
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  const std::string copy = text;
  for (int i = 0; i < 20; ++i) EXPECT_NE(dynamic_quant(nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(text, copy);
}

TEST_F(Messages, BelongToTheirThread) {
  const DynamicQuantCall call;
  EXPECT_NE(dynamic_quant(nullptr, call.y.get(), call.scale.get()), 0);
  std::thread([&] {
    EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
    EXPECT_NE(dynamic_quant(call.x.get(), nullptr, call.scale.get()), 0);
    const std::vector<std::string> read = lines();
    ASSERT_EQ(read.size(), 1U);
    EXPECT_TRUE(contains(read[0], "yOut")) << read[0];
  }).join();
  const std::vector<std::string> read = lines();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_TRUE(contains(read[0], ": x ")) << read[0];
}

// aclnnAddRmsNormQuant of x {2, 4}, with these for the two arguments.
aclnnStatus add_rms_norm_quant(const Dims& scales_shape, aclDataType zero_points_dtype) {
  const Dims rows = {2, 4}, row = {4};
  const Tensor x = device_output<float>(rows, ACL_FLOAT),
               gamma = device_output<float>(row, ACL_FLOAT);
  const Tensor scales = device_output<float>(scales_shape, ACL_FLOAT);
  const Tensor zero_points = device_output<double>(row, zero_points_dtype);
  const Tensor y1 = device_output<int8_t>(rows, ACL_INT8),
               y2 = device_output<int8_t>(rows, ACL_INT8);
  const Tensor sum = device_output<float>(rows, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  return aclnnAddRmsNormQuantGetWorkspaceSize(x.get(), x.get(), gamma.get(), scales.get(), nullptr,
                                              zero_points.get(), nullptr, -1, 1e-6, true, y1.get(),
                                              y2.get(), sum.get(), &size, &executor);
}

TEST_F(Messages, SpeakOfWhatTheCallerWrote) {
  EXPECT_EQ(add_rms_norm_quant({4}, ACL_DOUBLE), ACLNN_ERR_PARAM_INVALID);
  const std::vector<std::string> read = lines();
  ASSERT_EQ(read.size(), 1U);
  expect_framed(read[0], "AclNN_Parameter_Error", "EZ1001",
                "aclnnAddRmsNormQuant: .*\\bzeroPoints1Optional\\b.*\\bACL_DOUBLE\\b.*");
  for (const char* word : {"zero_points", "npu_", "float64", "float32", "int32", "numpy"})
    EXPECT_FALSE(contains(read[0], word)) << read[0];
}

TEST_F(Messages, TheCodeDecidesTheTitle) {
  EXPECT_EQ(add_rms_norm_quant({3}, ACL_INT32), ACLNN_ERR_INNER_TILING_ERROR);
  const std::vector<std::string> read = lines();
  ASSERT_EQ(read.size(), 1U);
  expect_framed(read[0], "AclNN_Inner_Error", "EZ9999", "aclnnAddRmsNormQuant: .*\\bscales1\\b.*");
}

}  // namespace
}  // namespace npu_quant::testing
