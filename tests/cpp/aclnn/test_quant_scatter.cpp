// aclnnInplaceQuantScatter and V2: results by hand for each dtype and attribute, and what is
// refused.
#include "../reference.h"
#include "functions.h"

namespace npu_quant::testing {
namespace {

// What is changed of the good arguments, and how the message goes on if that is refused.
struct Change {
  const char* name;
  Parameters parameters;
  const char* text = nullptr;
};

// Calls use(function, change) for each function that a change is for.
template <size_t count, class Use>
void for_each_change(const Change (&changes)[count], Use use) {
  for (const Change& change : changes) {
    int tried = 0;
    for (const Function& function : functions_of(change.name)) {
      SCOPED_TRACE(function.name() + ", row " + std::to_string(&change - changes));
      use(function, change);
      ++tried;
    }
    EXPECT_GT(tried, 0);
  }
}

const Given kUpdates{ACL_BF16, {1, 1, 2}, {1, -1.5f}}, kOnes{ACL_BF16, {1, 1, 2}, {1, 1}};
const Change kValues[] = {
    {"aclnnInplaceQuantScatter",
     {{"selfRef", {ACL_INT8, {2, 1, 2, 2}, {77, 77, 77, 77, 77, 77, 1, -2}}},
      {"indices", {ACL_INT64, {1, 2}, {1, 1}}},
      {"updates", {ACL_BF16, {1, 1, 1, 2}, {1, -1.5f}}},
      {"quantScales", kOnes},
      {"quantZeroPoints", kNull}}},
    {"aclnnInplaceQuantScatter",
     {{"selfRef", {ACL_INT8, {1, 2, 1, 2}, {77, 77, 2, -1}}},
      {"axis", 1},
      {"quantAxis", 3},
      {"updates", {ACL_BF16, {1, 1, 1, 2}, {1, -1.5f}}},
      {"quantScales", kOnes},
      {"quantZeroPoints", {ACL_BF16, {2}, {1, 0.75f}}}}},
    {"aclnnInplaceQuantScatterV2",
     {{"selfRef", {ACL_FLOAT8_E4M3FN, {1, 2, 2}, {77, 77, 0x38, 0xbc}}},
      {"updates", kUpdates},
      {"quantScales", kOnes},
      {"quantZeroPoints", kNull}}},
    {"aclnnInplaceQuantScatterV2",
     {{"selfRef", {ACL_FLOAT8_E5M2, {1, 2, 2}, {77, 77, 0x3c, 0xbe}}},
      {"updates", kUpdates},
      {"quantScales", kOnes},
      {"quantZeroPoints", kNull}}},
    {"aclnnInplaceQuantScatterV2",
     {{"selfRef", {ACL_HIFLOAT8, {1, 2, 2}, {77, 77, 8, 140}}},
      {"roundMode", "round"},
      {"updates", kUpdates},
      {"quantScales", kOnes},
      {"quantZeroPoints", kNull}}},
};

const char kScatter[] = "aclnnInplaceQuantScatter", kScatterV2[] = "aclnnInplaceQuantScatterV2";
const Change kRefusals[] = {
    {kScatter, {{"selfRef", {ACL_INT32, {1, 3, 2}}}}, "selfRef has dtype ACL_INT32, available: "},
    {"aclnnInplaceQuantScatterV1",
     {{"selfRef", {ACL_FLOAT8_E5M2, {1, 3, 2}}}},
     "selfRef has dtype ACL_FLOAT8_E5M2, available: ACL_INT8."},
    {kScatter, {{"selfRef", {ACL_INT8, {3, 2}}}}, "selfRef has 2 dimensions, expected 3 to 8."},
    {kScatter, {{"indices", {ACL_INT16, {1}}}}, "indices has dtype ACL_INT16, expected ACL_INT32"},
    {kScatter, {{"indices", {ACL_INT32, {2}}}}, "indices has shape (2,), expected (1,) or (1, 2)"},
    {kScatter, {{"indices", {ACL_INT32, {1, 1, 2}}}}, "indices has 3 dimensions"},
    {kScatter, {{"updates", {ACL_FLOAT, {1, 1, 2}}}}, "updates has dtype ACL_FLOAT, expected ACL"},
    {kScatter,
     {{"updates", {ACL_FLOAT16, {1, 4, 2}}}},
     "expected the shape of selfRef, (1, 3, 2), or less"},
    {kScatter, {{"quantScales", {ACL_FLOAT16, {2}}}}, "quantScales has dtype ACL_FLOAT16"},
    {kScatter, {{"quantScales", {ACL_FLOAT, {1}}}}, "quantScales has shape (1,), expected 2 elem"},
    {kScatter, {{"quantZeroPoints", {ACL_INT8, {2}}}}, "quantZeroPoints has dtype ACL_INT8"},
    {kScatter, {{"quantZeroPoints", {ACL_INT32, {3}}}}, "quantZeroPoints has shape (3,)"},
    {kScatter,
     {{"axis", 0}},
     "axis is 0, expected neither the first nor the last axis of selfRef."},
    {kScatter,
     {{"quantAxis", 0}},
     "quantAxis is 0, available: -1 or 2 (the last axis of selfRef)."},
    {kScatter, {{"reduction", 0}}, "reduction is 0, available: 1 (update)."},
    {kScatterV2, {{"roundMode", "hybrid"}}, "roundMode is 'hybrid', available: 'rint' or 'round'."},
    {kScatterV2, {{"roundMode", "round"}}, "roundMode is 'round', available: 'rint'."},
    {kScatterV2,
     {{"selfRef", {ACL_HIFLOAT8, {1, 3, 2}}}},
     "roundMode is 'rint', available for ACL_HIFLOAT8: 'round'"},
    {kScatterV2, {{"roundMode", static_cast<const char*>(nullptr)}}, "roundMode is NULL."},
};

using InplaceQuantScatter = OnDevice;

TEST_F(InplaceQuantScatter, ByHand) {
  for_each_change(kValues, [&](const Function& function, const Change& change) {
    on_every_target([&] {
      const Call call(function, change.parameters);
      EXPECT_EQ(run(stream, function.phase2, call), 0);
      call.expect_results();
    });
  });
}

TEST_F(InplaceQuantScatter, Refuses) {
  for_each_change(kRefusals, [](const Function& function, const Change& change) {
    expect_refused(Call(function, change.parameters), 161002, change.text);
  });
}

TEST_F(InplaceQuantScatter, ReadsIndicesInPhaseTwo) {
  for (const Function& function : functions_of(kScatter)) {
    const Call call(function, {{"indices", {ACL_INT32, {1}, {3}}}});
    EXPECT_EQ(run(stream, function.phase2, call), 161002);
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find("indices[0] is 3, expected 0 to 2"),
              std::string::npos);
    EXPECT_EQ(floats_in(call.tensors[0], ACL_INT8), std::vector<float>(6, 77));
  }
}

// It is an input and an output, the first of either.
TEST_F(InplaceQuantScatter, SelfMayMove) {
  for (const auto set_address : {aclSetInputTensorAddr, aclSetOutputTensorAddr, aclSetTensorAddr}) {
    const Function function = functions_of(kScatter)[0];
    const Call call(function), other(function);
    aclOpExecutor* const executor = prepare(call);
    aclTensor* const self = call.tensors[0].get();
    EXPECT_EQ(set_address(executor, 0, self, other.tensors[0].address()), 0);
    EXPECT_EQ(function.phase2(nullptr, 0, executor, stream), 0);
    other.expect_results();
    EXPECT_EQ(floats_in(call.tensors[0], ACL_INT8), std::vector<float>(6, 77));
  }
}

}  // namespace
}  // namespace npu_quant::testing
