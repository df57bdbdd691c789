// Lists of several tensors, that operators take: what comes of them, their places for new
// addresses, and lists that do not fit.
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant_v2.h"
#include "aclnnop/aclnn_grouped_matmul_v5.h"
#include "functions.h"
#include "opdev/op_errno.h"

namespace npu_quant::testing {
namespace {

// Its tensors go with it.
struct List {
  List() = default;
  explicit List(const std::vector<Given>& elements, const char* name = "x") {
    std::vector<aclTensor*> handles;
    for (const Given& one : elements)
      handles.push_back(tensors.emplace_back(tensor_of(Parameter(name, one))).get());
    handle = aclCreateTensorList(handles.data(), handles.size());
  }
  List(const List&) = delete;
  ~List() { EXPECT_EQ(aclDestroyTensorList(handle), 0); }

  std::vector<Tensor> tensors;
  aclTensorList* handle = nullptr;
};

const Given kRows{ACL_INT8, {3, 2}, {1, 2, -3, 4, 5, 6}};
const std::vector<Given> kPartsOfRows = {{ACL_INT8, {2, 2}, {1, 2, -3, 4}},
                                         {ACL_INT8, {1, 2}, {5, 6}}},
                         kTwoWeights = {{ACL_INT8, {2, 2}, {5, -6, 8, 9}},
                                        {ACL_INT8, {2, 2}, {1, 2, 3, 4}}};
const std::vector<int32_t> kSumsOfRows = {21, 12, 17, 54, 23, 34};

// Products of two weights, in one tensor or two.
class ListsOfTensors : public OnDevice {
 protected:
  struct Arguments {
    const List &x, &weight, &out;
    aclTensor* group_list = nullptr;
    int64_t split_item = 3, group_type = 0, group_list_type = 0;
    const aclTensorList* bias = nullptr;
    aclIntArray* tuning = nullptr;

    aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
      return aclnnGroupedMatmulV5GetWorkspaceSize(
          x.handle, weight.handle, bias, nullptr, nullptr, nullptr, nullptr, nullptr, group_list,
          nullptr, nullptr, nullptr, split_item, group_type, group_list_type, 0, tuning, out.handle,
          nullptr, nullptr, size, executor);
    }
  };
  aclnnStatus run(const Arguments& arguments) {
    return testing::run(stream, aclnnGroupedMatmulV5, arguments);
  }
  static std::vector<int32_t> sums_in(const List& out) {
    std::vector<int32_t> all;
    for (const Tensor& tensor : out.tensors)
      for (const int32_t sum : tensor.host<int32_t>()) all.push_back(sum);
    return all;
  }

  const List one{{kRows}}, parts{kPartsOfRows}, weights{kTwoWeights};
  const List whole{{{ACL_INT32, {3, 2}}}, "out"},
      results{{{ACL_INT32, {2, 2}}, {ACL_INT32, {1, 2}}}, "out"};
  const Tensor ends = device_tensor<int64_t>({2, 3}, {2}, ACL_INT64);
};

TEST_F(ListsOfTensors, OneForRowsOfAll) {
  EXPECT_EQ(run({one, weights, whole, ends.get()}), 0);
  EXPECT_EQ(sums_in(whole), kSumsOfRows);
  EXPECT_EQ(run({one, weights, results, ends.get(), 1}), 0);
  EXPECT_EQ(sums_in(results), kSumsOfRows);
}

TEST_F(ListsOfTensors, OneForEachWeight) {
  EXPECT_EQ(run({parts, weights, results, nullptr, 0, -1}), 0);
  EXPECT_EQ(sums_in(results), kSumsOfRows);
  EXPECT_EQ(run({parts, weights, whole, nullptr, 2, 0}), 0);
  EXPECT_EQ(sums_in(whole), kSumsOfRows);
}

TEST_F(ListsOfTensors, OneForEachWeightAndItsRows) {
  const Tensor counts = device_tensor<int64_t>({2, 1}, {2}, ACL_INT64),
               others = device_tensor<int64_t>({1, 2}, {2}, ACL_INT64);
  EXPECT_EQ(run({parts, weights, whole, ends.get()}), 0);
  EXPECT_EQ(run({parts, weights, whole, counts.get(), 3, 0, 1}), 0);
  EXPECT_EQ(sums_in(whole), kSumsOfRows);
  EXPECT_EQ(run({parts, weights, whole, others.get(), 3, 0, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_STREQ(std::strstr(aclGetRecentErrMsg(), "groupListOptional["),
               "groupListOptional[0] covers rows 0 to 1, expected 0 to 2, the rows of x[0].");
}

TEST_F(ListsOfTensors, GroupsThatResultsDoNotFit) {
  const Tensor others = device_tensor<int64_t>({1, 3}, {2}, ACL_INT64);
  EXPECT_EQ(run({one, weights, results, others.get(), 0}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_NE(std::strstr(aclGetRecentErrMsg(), "out[0] has shape (2, 2)"), nullptr);
  EXPECT_EQ(sums_in(results), std::vector<int32_t>(6, 77));
}

TEST_F(ListsOfTensors, PrivateFormatsAreRefused) {
  const List private_one{kTwoWeights};
  const int64_t dims[] = {2, 2};
  EXPECT_EQ(aclInitTensor(private_one.tensors[1].get(), dims, 2, ACL_INT8, nullptr, 0,
                          ACL_FORMAT_FRACTAL_NZ, dims, 2, private_one.tensors[1].address()),
            0);
  expect_refused(Arguments{one, private_one, whole, ends.get()}, ACLNN_ERR_PARAM_INVALID,
                 "weight[1] has a private format");
}

TEST_F(ListsOfTensors, OfOtherLengths) {
  const List three{{kRows, kRows, kRows}}, none(std::vector<Given>{}), missing;
  const auto refused = [&](const Arguments& arguments, const char* text) {
    expect_refused(arguments, ACLNN_ERR_PARAM_INVALID, text);
  };
  refused({three, weights, whole}, "weight has 2 arrays, expected 3.");
  refused({none, weights, whole}, "x has 0 arrays, expected 1 or more.");
  refused({one, none, whole}, "weight has 0 arrays, expected 1 or more.");
  refused({one, weights, results, ends.get()}, "out has 2 arrays, expected 1.");
  refused({one, weights, whole, ends.get(), 0}, "out has 1 array, expected 2.");
  refused({one, weights, none, ends.get()}, "out has 0 arrays, expected 1.");
  refused({one, weights, whole, ends.get(), 3, 0, 0, three.handle},
          "biasOptional has 3 arrays, expected 2, as many as weight has.");
}

TEST_F(ListsOfTensors, ThatStandForNone) {
  const List empty(std::vector<Given>{}), null({kNull}), nothing({{ACL_FLOAT, {0}}});
  for (const List* none : {&empty, &null, &nothing}) {
    EXPECT_EQ(run({one, weights, whole, ends.get(), 3, 0, 0, none->handle}), 0);
    EXPECT_EQ(sums_in(whole), kSumsOfRows);
  }
}

TEST_F(ListsOfTensors, ThatAreNotThere) {
  const List missing, half({kTwoWeights[0], kNull});
  const auto refused = [&](const Arguments& arguments, const char* text) {
    expect_refused(arguments, ACLNN_ERR_PARAM_NULLPTR, text);
  };
  refused({missing, weights, whole, ends.get()}, "x is NULL.");
  refused({one, missing, whole, ends.get()}, "weight is NULL.");
  refused({one, weights, missing, ends.get()}, "out is NULL.");
  refused({one, half, whole, ends.get()}, "weight[1] is NULL.");
  auto* const unknown = reinterpret_cast<aclTensorList*>(&on_the_stack);
  refused({one, weights, whole, ends.get(), 3, 0, 0, unknown}, "biasOptional is not a live list.");
  const aclTensorList* const gone = aclCreateTensorList(nullptr, 0);
  EXPECT_EQ(aclDestroyTensorList(gone), 0);
  refused({one, weights, whole, ends.get(), 3, 0, 0, gone}, "biasOptional is not a live list.");
  auto* const no_array = reinterpret_cast<aclIntArray*>(&on_the_stack);
  refused({one, weights, whole, ends.get(), 3, 0, 0, nullptr, no_array},
          "tuningConfigOptional is not a live array.");
}

TEST_F(ListsOfTensors, TuningChangesNothing) {
  const int64_t values[] = {64, 0, -1};
  aclIntArray* const tuning = aclCreateIntArray(values, 3);
  EXPECT_EQ(run({one, weights, whole, ends.get(), 3, 0, 0, nullptr, tuning}), 0);
  EXPECT_EQ(aclDestroyIntArray(tuning), 0);
  EXPECT_EQ(sums_in(whole), kSumsOfRows);
}

// One tensor may be in two lists; when one of them goes, it is gone in the other.
TEST_F(ListsOfTensors, SomeTensorsOfAnother) {
  aclTensor* const twice[] = {weights.tensors[0].get(), weights.tensors[0].get()};
  List again;
  again.handle = aclCreateTensorList(twice, 2);
  EXPECT_EQ(run({one, again, whole, ends.get()}), 0);
  EXPECT_EQ(sums_in(whole), (std::vector<int32_t>{21, 12, 17, 54, 73, 24}));
  EXPECT_EQ(aclDestroyTensorList(again.handle), 0);
  again.handle = nullptr;
  expect_refused(Arguments{one, weights, whole, ends.get()}, ACLNN_ERR_PARAM_NULLPTR,
                 "weight[0] is not a live tensor.");
}

// After phase 1 neither lists nor tensors matter.
TEST_F(ListsOfTensors, GoBeforeTheSecondPhase) {
  aclOpExecutor* executor = nullptr;
  {
    const List x{{kRows}};
    executor = prepare(Arguments{x, weights, whole, ends.get()});
    EXPECT_EQ(aclDestroyTensorList(x.handle), 0);
    EXPECT_EQ(aclnnGroupedMatmulV5(nullptr, 0, executor, stream), 0);
    const_cast<List&>(x).handle = nullptr;
  }
  EXPECT_EQ(sums_in(whole), kSumsOfRows);
}

TEST_F(ListsOfTensors, ElementsHavePlacesForNewAddresses) {
  const List more{kTwoWeights}, out{{{ACL_INT32, {3, 2}}}, "out"};
  upload<int8_t>(more.tensors[1].address(), {-1, -2, -3, -4});
  aclOpExecutor* const executor = prepare(Arguments{one, weights, whole, ends.get()});
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  void* const address = more.tensors[1].address();
  EXPECT_EQ(aclSetDynamicInputTensorAddr(executor, 1, 1, weights.handle, address), 0);
  EXPECT_EQ(aclSetDynamicOutputTensorAddr(executor, 0, 0, whole.handle, out.tensors[0].address()),
            0);
  for (const auto& [index, element] : {std::pair{0, 1}, {1, 2}, {2, 1}})
    EXPECT_EQ(aclSetDynamicTensorAddr(executor, static_cast<size_t>(index),
                                      static_cast<size_t>(element), weights.handle, address),
              ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetDynamicInputTensorAddr(executor, 1, 1, more.handle, address),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclnnGroupedMatmulV5(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(sums_in(out), (std::vector<int32_t>{21, 12, 17, 54, -23, -34}));
  EXPECT_EQ(sums_in(whole), std::vector<int32_t>(6, 77));
  // x is the first tensor, the weights are two.
  EXPECT_EQ(aclSetTensorAddr(executor, 2, weights.tensors[1].get(), weights.tensors[1].address()),
            0);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor, 0, 0, one.handle, nullptr), 0);
  EXPECT_EQ(aclnnGroupedMatmulV5(nullptr, 0, executor, stream), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor, 0, 0, one.handle, one.tensors[0].address()), 0);
  EXPECT_EQ(aclnnGroupedMatmulV5(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(sums_in(out), kSumsOfRows);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

TEST_F(ListsOfTensors, OfOneTensorForAllExperts) {
  const Tensor x = device_tensor<int8_t>({1}, {1, 1}, ACL_INT8), scale = ones({1}, ACL_FLOAT),
               list = device_tensor<int64_t>({1}, {1}, ACL_INT64), y = ones({1, 1}, ACL_INT8);
  const List weight{{{ACL_INT8, {1, 1, 2}}}}, two{{{ACL_INT8, {1, 2}}, {ACL_INT8, {1, 2}}}},
      of_columns{{{ACL_FLOAT, {1, 2}}}}, none(std::vector<Given>{});
  const auto refused = [&](const aclTensorList* weights, const aclTensorList* assists,
                           aclnnStatus code, const char* text) {
    const auto phase1 = [&](uint64_t* size, aclOpExecutor** executor) {
      return aclnnGroupedMatmulSwigluQuantV2GetWorkspaceSize(
          x.get(), weights, of_columns.handle, assists, nullptr, scale.get(), nullptr, list.get(),
          0, 0, 0, 0, nullptr, y.get(), scale.get(), size, executor);
    };
    expect_refused(phase1, code, text);
  };
  refused(two.handle, nullptr, ACLNN_ERR_PARAM_INVALID, "weight has 2 tensors, expected one");
  refused(none.handle, nullptr, ACLNN_ERR_PARAM_INVALID, "weight has 0 tensors, expected one");
  refused(nullptr, nullptr, ACLNN_ERR_PARAM_NULLPTR, "weight is NULL.");
  refused(weight.handle, two.handle, ACLNN_ERR_PARAM_INVALID, "weightAssistMatrix has 2 tensors");
  refused(reinterpret_cast<aclTensorList*>(&on_the_stack), nullptr, ACLNN_ERR_PARAM_NULLPTR,
          "weight is not a live list.");
}

}  // namespace
}  // namespace npu_quant::testing
