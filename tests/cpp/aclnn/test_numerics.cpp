// A profile that an operator lacks is refused by it: by every function there is, but those of
// operators that have it.
#include "core/numerics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "functions.h"
#include "ops/environment.h"

namespace npu_quant::testing {
namespace {

bool has_profiles(std::string_view function) {
  constexpr std::string_view kSome[] = {"aclnnDynamicQuant",      "aclnnDynamicQuantV2",
                                        "aclnnDynamicQuantV3",    "aclnnDynamicQuantV4",
                                        "aclnnDynamicBlockQuant", "aclnnDynamicBlockQuantV2"};
  return std::find(std::begin(kSome), std::end(kSome), function) != std::end(kSome);
}

class EveryProfile : public OnDevice, public ::testing::WithParamInterface<Function> {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (const char* set = std::getenv("NPU_QUANT_NUMERICS")) before = set;
    setenv("NPU_QUANT_NUMERICS", "ascend950", 1);
    renew_environment();
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

INSTANTIATE_TEST_SUITE_P(All, EveryProfile, ::testing::ValuesIn(all_functions()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace npu_quant::testing
