// A profile that an operator lacks is refused by it: by every function there is, but those of
// operators that have it.
#include "core/numerics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "../reference.h"
#include "functions.h"
#include "ops/contract/environment.h"

namespace npu_quant::testing {
namespace {

bool has_profiles(std::string_view function) {
  constexpr std::string_view kSome[] = {"aclnnDynamicQuant",      "aclnnDynamicQuantV2",
                                        "aclnnDynamicQuantV3",    "aclnnDynamicQuantV4",
                                        "aclnnDynamicBlockQuant", "aclnnDynamicBlockQuantV2"};
  return std::find(std::begin(kSome), std::end(kSome), function) != std::end(kSome);
}

class Profiles : public OnDevice {
 protected:
  void choose(const char* numerics) {
    setenv("NPU_QUANT_NUMERICS", numerics, 1);
    renew_environment();
  }
  void SetUp() override {
    OnDevice::SetUp();
    if (const char* set = std::getenv("NPU_QUANT_NUMERICS")) before = set;
    choose("ascend950");
  }
  void TearDown() override {
    put_back();
    OnDevice::TearDown();
  }
  void put_back() {
    if (before)
      setenv("NPU_QUANT_NUMERICS", before->c_str(), 1);
    else
      unsetenv("NPU_QUANT_NUMERICS");
    renew_environment();
  }

  std::optional<std::string> before;
};

class EveryProfile : public Profiles, public ::testing::WithParamInterface<Function> {};

TEST_P(EveryProfile, OfTheEnvironmentThatAnOperatorLacks) {
  const Call call(GetParam());
  EXPECT_TRUE(environment().status.ok());
  const std::string refusal = "NPU_QUANT_NUMERICS is 'ascend950', available: reference.";
  if (has_profiles(GetParam().name())) {
    EXPECT_EQ(status_of(call), 0);
    return;
  }
  expect_refused(call, 161002, GetParam().name() + ": " + refusal);
  put_back();
  EXPECT_EQ(status_of(call), 0);
}

// docs/numerics.md 4, by hand.
TEST_F(Profiles, ComputeByTheirFormulas) {
  const struct {
    const char *numerics, *function;
    Parameters changes;
  } vectors[] = {
      {"ascend910b:scale_form=S2",
       "aclnnDynamicQuantV1",
       {{"smoothScalesOptional", kNull},
        {"x", {ACL_FLOAT16, {1, 2}, {1.125f, 0.5625f}}},
        {"yOut", {ACL_INT8, {1, 2}, {127, 64}}},
        {"scaleOut", {ACL_FLOAT, {1}, {float_from_bits(0x3c112245)}}}}},
      {"ascend950",
       "aclnnDynamicQuantV1",
       {{"smoothScalesOptional", kNull},
        {"x", {ACL_FLOAT16, {1, 2}, {1.125f, 0.5625f}}},
        {"yOut", {ACL_INT8, {1, 2}, {127, 64}}},
        {"scaleOut", {ACL_FLOAT, {1}, {float_from_bits(0x3c112244)}}}}},
      {"ascend910b",
       "aclnnDynamicBlockQuantV1",
       {{"x", {ACL_FLOAT16, {1, 2}, {1.125f, 0.5625f}}},
        {"minScale", 0.0},
        {"dstType", int64_t{ACL_INT8}},
        {"rowBlockSize", int64_t{1}},
        {"colBlockSize", int64_t{128}},
        {"yOut", {ACL_INT8, {1, 2}, {127, 64}}},
        {"scaleOut", {ACL_FLOAT, {1, 1}, {float_from_bits(0x3c112244)}}}}},
  };
  for (const auto& [numerics, function, changes] : vectors) {
    choose(numerics);
    const Call call(functions_of(function)[0], changes);
    ASSERT_EQ(run(stream, call.phase2(), call), 0) << aclGetRecentErrMsg();
    call.expect_results();
  }
}

TEST_F(Profiles, RefuseWhatTheDeviceDoes) {
  const Call call(functions_of("aclnnDynamicQuantV1")[0],
                  {{"smoothScalesOptional", kNull}, {"x", {ACL_FLOAT, {1, 4}}}});
  expect_refused(call, 161002,
                 "aclnnDynamicQuant: x is ACL_FLOAT; ascend950 takes ACL_FLOAT16 and ACL_BF16.");
}

INSTANTIATE_TEST_SUITE_P(All, EveryProfile, ::testing::ValuesIn(all_functions()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace npu_quant::testing
