// A profile that an operator lacks is refused by it: by every function there is.
#include "core/numerics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "functions.h"
#include "ops/environment.h"

namespace npu_quant::testing {
namespace {

class EveryProfile : public OnDevice, public ::testing::WithParamInterface<Function> {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (const char* set = std::getenv("NPU_QUANT_NUMERICS")) before = set;
    set_fictitious_numerics("fictitious");
    setenv("NPU_QUANT_NUMERICS", "fictitious", 1);
    renew_environment();
  }
  void TearDown() override {
    put_back();
    OnDevice::TearDown();
  }
  void put_back() {
    set_fictitious_numerics(nullptr);
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
  const std::string refusal = "NPU_QUANT_NUMERICS is 'fictitious', available: reference.";
  expect_refused(call, 161002, GetParam().name() + ": " + refusal);
  put_back();
  EXPECT_EQ(status_of(call), 0);
}

INSTANTIATE_TEST_SUITE_P(All, EveryProfile, ::testing::ValuesIn(all_functions()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace npu_quant::testing
