// The lists of tensors of a call.
#include "aclnn/src/executor.h"

namespace npu_quant::aclnn {

void Executor::add_list(const TensorArgument& like, const TensorList& list, const Views& views,
                        bool is_required) {
  if (!list.is_given()) return add(like, is_required);
  TensorArgument added = like;
  added.list = list.handle;
  for (size_t i = 0; i < views.size(); ++i) {
    std::string& name = names_.emplace_back(like.name);
    name.append("[").append(std::to_string(i)).append("]");
    added.name = name.c_str();
    added.tensor = list.elements[i];
    added.view = views[i];
    added.element = static_cast<int>(i);
    add(added, is_required);
  }
}

bool Executor::is_given(const TensorList& list) {
  if (list.elements.size() != 1) return list.is_given();
  const aclTensor* const only = list.elements[0];
  const Tensor* const described = tensors().find(only);
  return only != nullptr && (described == nullptr || described->dims != std::vector<int64_t>{0});
}

void Executor::refuse_list(const char* name, const TensorList& list) {
  add({.name = name}, false);
  if (!list.is_live) return fail(Fault::missing, name, "is not a live list");
  if (is_given(list)) fail(Fault::attribute, name, "is given", "expected NULL");
}

void Executor::make_room(size_t arguments, TensorView* results) {
  many_.resize(arguments);
  room_ = many_;
  outputs_at_ = results;
}

}  // namespace npu_quant::aclnn
