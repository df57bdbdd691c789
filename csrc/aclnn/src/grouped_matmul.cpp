// aclnnGroupedMatmulV4, V5: npu_grouped_matmul.
#include "ops/grouped_matmul.h"

#include <algorithm>

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_grouped_matmul_v4.h"
#include "aclnnop/aclnn_grouped_matmul_v5.h"

namespace npu_quant::aclnn {
namespace {

using Lists = GroupedMatmulLists;

constexpr std::initializer_list<OtherName> kGroupedNames = {
    {"bias", "biasOptional"},
    {"scale", "scaleOptional"},
    {"antiquant_scale", "antiquantScaleOptional"},
    {"antiquant_offset", "antiquantOffsetOptional"},
    {"per_token_scale", "perTokenScaleOptional"},
    {"group_list", "groupListOptional"},
    {"output_dtype", "the dtype of out"}};
constexpr Function kGroupedMatmulV4{.name = "aclnnGroupedMatmulV4", .other_names = kGroupedNames};
constexpr Function kGroupedMatmulV5{.name = "aclnnGroupedMatmulV5", .other_names = kGroupedNames};

// What a function was given, before anything is locked.
struct Given {
  const TensorList lists[Lists::kLists];
  const TensorList offset, activations[3], out, more_results[2];
  const aclTensor* group_list;
  int64_t split_item, group_type, group_list_type, act_type;
  bool has_tuning;  // or NULL: it changes nothing, but is to be a live array
};

struct GroupedMatmulCall : Call<Lists> {
  using Call::Call;

  void set(const Given& given) {
    check_lists(given);
    if (has_failed()) return;
    make_entries(given);
    if (has_failed()) return;
    results_.resize(std::max<size_t>(given.out.elements.size(), 1));
    make_room((Lists::kLists + 1) * op.entries.size() + kUsualArguments, results_.data());
    set_inputs(given);
    set_attributes(given);
    set_outputs(given);
  }

 private:
  void check_lists(const Given& given) {
    const auto check = [this](const std::string& name, const TensorList& list, bool is_required) {
      if (!list.is_live) return fail(Fault::missing, name.c_str(), "is not a live list");
      if (is_required && list.handle == nullptr) fail(Fault::missing, name.c_str(), "is NULL");
    };
    for (int i = 0; i < Lists::kLists; ++i)
      check(name_of(function, Lists::kNames[i]), given.lists[i], i <= Lists::kWeight);
    check("out", given.out, true);
    if (!given.has_tuning) fail(Fault::missing, "tuningConfigOptional", "is not a live array");
  }

  void make_entries(const Given& given) {
    int64_t lengths[Lists::kLists];
    for (int i = 0; i < Lists::kLists; ++i) {
      const auto length = static_cast<int64_t>(given.lists[i].elements.size());
      const bool is_optional = i > Lists::kWeight;
      lengths[i] = is_optional && !is_given(given.lists[i]) ? Lists::kNoList : length;
    }
    if (const Status status = op.make_entries(lengths); !status.ok()) fail(status);
  }

  Views views_of(TensorView GroupedMatmul::* view, bool is_of_first = false) {
    Views views;
    for (GroupedMatmul& entry : op.entries)
      if (views.empty() || !is_of_first) views.push_back(&(entry.*view));
    return views;
  }
  void set_list(int list, const Given& given, TensorView GroupedMatmul::* view) {
    const char* const name =
        list_names_.emplace_back(name_of(function, Lists::kNames[list])).c_str();
    const Views views = views_of(view, op.is_of_first(list));
    if (list <= Lists::kWeight) return input_list(name, given.lists[list], views);
    optional_input_list(name, is_given(given.lists[list]) ? given.lists[list] : TensorList(),
                        views);
  }

  void set_inputs(const Given& given) {
    set_list(Lists::kX, given, &GroupedMatmul::x);
    set_list(Lists::kWeight, given, &GroupedMatmul::weight);
    set_list(Lists::kBias, given, &GroupedMatmul::bias);
    set_list(Lists::kScale, given, &GroupedMatmul::scale);
    refuse_list("offsetOptional", given.offset);
    set_list(Lists::kAntiquantScale, given, &GroupedMatmul::antiquant_scale);
    set_list(Lists::kAntiquantOffset, given, &GroupedMatmul::antiquant_offset);
    set_list(Lists::kTokens, given, &GroupedMatmul::per_token_scale);
    optional_input("groupListOptional", given.group_list, op.entries[0].group_list);
    static constexpr const char* kActivations[] = {
        "activationInputOptional", "activationQuantScaleOptional", "activationQuantOffsetOptional"};
    for (int i = 0; i < 3; ++i) refuse_list(kActivations[i], given.activations[i]);
    // Words of aclnnTransQuantParamV2, or those of which the lower half is a float.
    for (GroupedMatmul& entry : op.entries)
      if (entry.scale.dtype == DType::uint64) entry.scale.dtype = DType::int64;
  }

  void set_attributes(const Given& given) {
    for (GroupedMatmul& entry : op.entries) {
      entry.split_item = given.split_item;
      entry.group_type = given.group_type;
      entry.group_list_type = given.group_list_type;
      entry.act_type = given.act_type;
    }
  }

  void set_outputs(const Given& given) {
    const auto count = static_cast<int64_t>(given.out.elements.size());
    if (const Status status = op.check_result_count(count); !status.ok()) return fail(status);
    Views views;
    for (TensorView& result : results_) views.push_back(&result);
    output_list("out", given.out, views);
    for (GroupedMatmul& entry : op.entries) entry.output_dtype = request_of(results_[0]);
    refuse_list("activationFeatureOutOptional", given.more_results[0]);
    refuse_list("dynQuantScaleOutOptional", given.more_results[1]);
  }

  std::list<std::string> list_names_;
  std::vector<TensorView> results_;
};

// Of lists there may be no room for a copy.
aclnnStatus plan_lists(
    const Function& function, const aclTensorList* x, const aclTensorList* weight,
    const aclTensorList* biasOptional, const aclTensorList* scaleOptional,
    const aclTensorList* offsetOptional, const aclTensorList* antiquantScaleOptional,
    const aclTensorList* antiquantOffsetOptional, const aclTensorList* perTokenScaleOptional,
    const aclTensor* groupListOptional, const aclTensorList* activationInputOptional,
    const aclTensorList* activationQuantScaleOptional,
    const aclTensorList* activationQuantOffsetOptional, int64_t splitItem, int64_t groupType,
    int64_t groupListType, int64_t actType, const aclIntArray* tuningConfigOptional,
    aclTensorList* out, aclTensorList* activationFeatureOutOptional,
    aclTensorList* dynQuantScaleOutOptional, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return guarded(function.name, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&] {
    const Given given{
        .lists = {tensors_in(x), tensors_in(weight), tensors_in(biasOptional),
                  tensors_in(scaleOptional), tensors_in(antiquantScaleOptional),
                  tensors_in(antiquantOffsetOptional), tensors_in(perTokenScaleOptional)},
        .offset = tensors_in(offsetOptional),
        .activations = {tensors_in(activationInputOptional),
                        tensors_in(activationQuantScaleOptional),
                        tensors_in(activationQuantOffsetOptional)},
        .out = tensors_in(out),
        .more_results = {tensors_in(activationFeatureOutOptional),
                         tensors_in(dynQuantScaleOutOptional)},
        .group_list = groupListOptional,
        .split_item = splitItem,
        .group_type = groupType,
        .group_list_type = groupListType,
        .act_type = actType,
        .has_tuning = integers_in(tuningConfigOptional).has_value()};
    return plan<GroupedMatmulCall>(function, workspaceSize, executor,
                                   [&](GroupedMatmulCall& call) { call.set(given); });
  });
}

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnGroupedMatmulV4GetWorkspaceSize(
    const aclTensorList* x, const aclTensorList* weight, const aclTensorList* biasOptional,
    const aclTensorList* scaleOptional, const aclTensorList* offsetOptional,
    const aclTensorList* antiquantScaleOptional, const aclTensorList* antiquantOffsetOptional,
    const aclTensorList* perTokenScaleOptional, const aclTensor* groupListOptional,
    const aclTensorList* activationInputOptional, const aclTensorList* activationQuantScaleOptional,
    const aclTensorList* activationQuantOffsetOptional, int64_t splitItem, int64_t groupType,
    int64_t groupListType, int64_t actType, aclTensorList* out,
    aclTensorList* activationFeatureOutOptional, aclTensorList* dynQuantScaleOutOptional,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_lists(kGroupedMatmulV4, x, weight, biasOptional, scaleOptional, offsetOptional,
                    antiquantScaleOptional, antiquantOffsetOptional, perTokenScaleOptional,
                    groupListOptional, activationInputOptional, activationQuantScaleOptional,
                    activationQuantOffsetOptional, splitItem, groupType, groupListType, actType,
                    nullptr, out, activationFeatureOutOptional, dynQuantScaleOutOptional,
                    workspaceSize, executor);
}

aclnnStatus aclnnGroupedMatmulV5GetWorkspaceSize(
    const aclTensorList* x, const aclTensorList* weight, const aclTensorList* biasOptional,
    const aclTensorList* scaleOptional, const aclTensorList* offsetOptional,
    const aclTensorList* antiquantScaleOptional, const aclTensorList* antiquantOffsetOptional,
    const aclTensorList* perTokenScaleOptional, const aclTensor* groupListOptional,
    const aclTensorList* activationInputOptional, const aclTensorList* activationQuantScaleOptional,
    const aclTensorList* activationQuantOffsetOptional, int64_t splitItem, int64_t groupType,
    int64_t groupListType, int64_t actType, aclIntArray* tuningConfigOptional, aclTensorList* out,
    aclTensorList* activationFeatureOutOptional, aclTensorList* dynQuantScaleOutOptional,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_lists(kGroupedMatmulV5, x, weight, biasOptional, scaleOptional, offsetOptional,
                    antiquantScaleOptional, antiquantOffsetOptional, perTokenScaleOptional,
                    groupListOptional, activationInputOptional, activationQuantScaleOptional,
                    activationQuantOffsetOptional, splitItem, groupType, groupListType, actType,
                    tuningConfigOptional, out, activationFeatureOutOptional,
                    dynQuantScaleOutOptional, workspaceSize, executor);
}

NPU_QUANT_SECOND_PHASE(aclnnGroupedMatmulV4, kGroupedMatmulV4)
NPU_QUANT_SECOND_PHASE(aclnnGroupedMatmulV5, kGroupedMatmulV5)
