#include "aclnn/src/executor.h"

#include <algorithm>
#include <stdexcept>

#include "aclnn/src/data_type.h"
#include "aclnn/src/memory.h"
#include "aclnn/src/runtime.h"
#include "aclnn/src/tensor.h"

namespace npu_quant::aclnn {
namespace {

using Executors = Registry<std::shared_ptr<Executor>, aclOpExecutor, Kind::executor>;

Executors& executors() {
  static auto* const kept = new Executors;
  return *kept;
}
[[maybe_unused]] const Executors& executors_loaded = executors();  // before any fork

// In the caller's words.
Status own_fault(Fault kind, const char* subject, const Text& came, const Text& allowed = {}) {
  return fault("", kind, subject, came, allowed);
}

int stale_executor(const char* function) {
  return report(ACLNN_ERR_INNER, function,
                "there is no such executor: it has been used or destroyed, or was never made.");
}

// An executor that is to run: taken out for good unless it is repeatable.
std::shared_ptr<Executor> take(aclOpExecutor* handle) {
  std::shared_ptr<Executor> found;
  executors().remove_if(handle, [&](const auto& executor) {
    found = executor;
    return !executor->is_repeatable;
  });
  return found;
}

int run(const Function& function, void* workspace, uint64_t workspace_size, aclOpExecutor* handle,
        aclrtStream stream) {
  const auto refuse = [&](int code, const std::string& reason) {
    return report(function.phase_2_code != OK ? function.phase_2_code : code, function.name,
                  reason);
  };
  if (handle == nullptr) return refuse(ACLNN_ERR_PARAM_NULLPTR, "executor is NULL.");
  const std::shared_ptr<Executor> executor = take(handle);
  if (!executor) return stale_executor(function.name);
  if (&executor->function != &function)
    return refuse(ACLNN_ERR_INNER,
                  std::string("the executor belongs to ") + executor->function.name + ".");
  if (workspace_size > 0 && workspace == nullptr) {
    executors().remove(handle);
    return refuse(ACLNN_ERR_PARAM_NULLPTR, "workspace is NULL.");
  }
  if (!is_stream(stream)) return refuse(ACLNN_ERR_RUNTIME_ERROR, "there is no such stream.");
  const Status status = executor->run();
  return status.ok() ? OK : executor->report(status, Phase::two);
}

bool is_any(const TensorArgument&) { return true; }
bool is_input(const TensorArgument& argument) { return argument.is_input; }
bool is_output(const TensorArgument& argument) { return argument.is_output; }

template <class Is>
aclnnStatus refresh(const char* function, aclOpExecutor* executor, bool is_given, Is is,
                    void* address) {
  return guarded(function, ACLNN_ERR_INNER, ACLNN_ERR_INNER, [&]() -> int {
    if (executor == nullptr || !is_given)
      return report(ACLNN_ERR_INNER_NULLPTR, function, "executor or tensor is NULL.");
    std::shared_ptr<Executor> found;
    if (!executors().with(executor, [&](const auto& kept) { found = kept; }))
      return stale_executor(function);
    if (found->set_address(is, address)) return OK;
    return report(ACLNN_ERR_PARAM_INVALID, function,
                  "the executor has no tensor, or another one, at that index.");
  });
}

// The tensor that is number `index` of those that count, elements of lists among them.
template <class Counts>
aclnnStatus refresh_tensor(const char* function, Counts counts, aclOpExecutor* executor,
                           size_t index, const aclTensor* tensor, void* address) {
  const auto is = [=](const TensorArgument& one) mutable {
    return counts(one) && index-- == 0 && one.tensor == tensor;
  };
  return refresh(function, executor, tensor != nullptr, is, address);
}

// An element of the list that is number `index` of the parameters that count.
template <class Counts>
aclnnStatus refresh_list(const char* function, Counts counts, aclOpExecutor* executor, size_t index,
                         size_t element, const aclTensorList* list, void* address) {
  const auto is = [=, before = 0](const TensorArgument& one) mutable {
    if (!counts(one)) return false;
    if (before != 0 && before != one.parameter) --index;
    before = one.parameter;
    return index == 0 && one.list == list && one.element == static_cast<int>(element);
  };
  return refresh(function, executor, list != nullptr, is, address);
}

}  // namespace

void Executor::input(const char* name, const aclTensor* tensor, TensorView& view) {
  add({.name = name, .tensor = tensor, .view = &view}, true);
}
void Executor::optional_input(const char* name, const aclTensor* tensor, TensorView& view) {
  add({.name = name, .tensor = tensor, .view = &view}, false);
}
void Executor::output(const char* name, const aclTensor* tensor, TensorView& view) {
  add({.name = name, .tensor = tensor, .view = &view, .is_input = false, .is_output = true}, true);
}
void Executor::input_and_output(const char* name, const aclTensor* tensor, TensorView& view) {
  add({.name = name, .tensor = tensor, .view = &view, .is_output = true}, true);
}
void Executor::optional_output(const char* name, const aclTensor* tensor, TensorView& view) {
  add({.name = name, .tensor = tensor, .view = &view, .is_input = false, .is_output = true}, false);
}

void Executor::add(const TensorArgument& argument, bool is_required) {
  if (count_ == room_.size()) throw std::logic_error("a call has too many tensors.");
  const int before = count_ == 0 ? 0 : room_[count_ - 1].parameter;
  TensorArgument& added = room_[count_++] = argument;
  added.parameter = added.element == 0 ? before + 1 : before;
  if (added.tensor == nullptr) {
    if (is_required) fail(Fault::missing, added.name, "is NULL");
    return;
  }
  const Tensor* const described = tensors().find(added.tensor);
  if (described == nullptr) return fail(Fault::missing, added.name, "is not a live tensor");
  added.address = described->address;
  added.offset = described->offset_in_bytes;
  *added.view = described->view;
  if (described->problem != nullptr) fail(Fault::dtype, added.name, described->problem);
  if (added.address != nullptr) added.view->data = static_cast<char*>(added.address) + added.offset;
}

DTypeRequest Executor::request_of(const TensorView& output) {
  const FormatRow* const row = find_row(output.dtype_name);
  if (row != nullptr) return {.is_default = false, .format = row->format};
  const char* const name = find_acl_name(output.dtype_name);
  return {.is_default = false, .text = name != nullptr ? name : output.dtype_name};
}

DTypeRequest Executor::request_of(const TensorView& output, int64_t dst_type,
                                  const char* attribute) {
  compare(output, dst_type, attribute);
  return request_of(output);
}

DTypeRequest Executor::codes_of(const TensorView& output) {
  check_codes(output);
  DTypeRequest request = request_of(output);
  if (request.format == Format::int32) request.format = Format::int4;
  request.array = output.dtype;
  return request;
}

DTypeRequest Executor::codes_of(const TensorView& output, int64_t dst_type) {
  compare(output, dst_type);
  return codes_of(output);
}

void Executor::check_codes(const TensorView& view) {
  if (is_among(format_of(view.dtype), function.codes)) return;
  Text available = "available: ";
  available += listed(function.codes, ", ");
  fail(Fault::dtype, name_of_view(&view, "").c_str(), {"has dtype ", DTypeOf(view)}, available);
}

void Executor::compare(const TensorView& output, int64_t dst_type, const char* attribute) {
  const char* const wanted = find_acl_name(dst_type);
  const char* const given = find_acl_name(output.dtype_name);
  if (wanted == nullptr || wanted != given)
    mismatch_ = own_fault(Fault::attribute, attribute,
                          {"is ", wanted != nullptr ? wanted : std::to_string(dst_type)},
                          {"but the output has dtype ", DTypeOf(output)});
}

void Executor::fail(Fault kind, const char* subject, const Text& came, const Text& allowed) {
  fail(own_fault(kind, subject, came, allowed));
}

void Executor::fail(const Status& fault) {
  if (fault_.ok() || (fault.fault() == Fault::missing && fault_.fault() != Fault::missing))
    fault_ = fault;
}

Status Executor::check() {
  NPU_QUANT_RETURN_IF_ERROR(fault_);
  NPU_QUANT_RETURN_IF_ERROR(environment().status);
  op_.numerics = environment().numerics;
  const Status status = op_.check();
  // As on the device: shapes and attributes come after the dtypes of all tensors.
  if (status.fault() == Fault::shape || status.fault() == Fault::attribute)
    NPU_QUANT_RETURN_IF_ERROR(check_output_types(op_.name, op_.outputs, outputs_at_));
  NPU_QUANT_RETURN_IF_ERROR(status);
  NPU_QUANT_RETURN_IF_ERROR(mismatch_);
  return op_.check_outputs(outputs_at_);
}

std::string Executor::name_of_view(const TensorView* view, const std::string& otherwise) {
  for (const TensorArgument& argument : arguments())
    if (argument.view == view) return argument.name;
  return name_of(function, otherwise);
}

std::string Executor::word_for(const Part& part) {
  switch (part.kind) {
    case Part::Kind::argument:
      for (const Input& input : op_.inputs())
        if (part.text == input.name) return name_of_view(input.view, part.text);
      return name_of(function, part.text);
    case Part::Kind::output:
      for (int i = 0; i < op_.outputs.size(); ++i)
        if (part.text == op_.outputs[i].name) return name_of_view(&outputs[i], part.text);
      return std::string("out[").append(part.text.empty() ? "0" : part.text).append("]");  // a list
    case Part::Kind::dtype: {
      const char* const name = find_acl_name(part.text);
      return name != nullptr ? name : part.text;
    }
    case Part::Kind::nothing: return "NULL";
    case Part::Kind::words: break;
  }
  return part.text;
}

int Executor::report(const Status& fault, Phase phase) {
  const auto words = [this](const Part& part) { return word_for(part); };
  return aclnn::report(function, fault, words, phase);
}

template <class Is>
bool Executor::set_address(Is is, void* address) {
  const std::lock_guard<LongMutex> lock(mutex_);
  const auto whole = executors().lock();  // a fork sees all of it or nothing
  for (TensorArgument& argument : arguments()) {
    if (!is(argument) || argument.tensor == nullptr) continue;
    argument.address = address;
    argument.view->data =
        address == nullptr ? nullptr : static_cast<char*>(address) + argument.offset;
    return moved_ = true;
  }
  return false;
}

Status Executor::check_addresses(std::span<const TensorArgument> some) const {
  Range ranges[kUsualArguments];
  const TensorArgument* of[kUsualArguments];
  int count = 0;
  for (const TensorArgument& argument : some) {
    const TensorView* const view = argument.view;
    if (view == nullptr || !view->present || view->shape.size() == 0) continue;
    if (view->data == nullptr)
      return own_fault(Fault::missing, argument.name, "has no data address");
    const auto* const base = static_cast<const char*>(argument.address);
    ranges[count] = {base, static_cast<size_t>(view->bounds().end - base)};
    of[count++] = &argument;
  }
  const int overrun = find_overrun(ranges, count);
  if (overrun == count) return {};
  return own_fault(Fault::overlap, of[overrun]->name, "runs past the end of its memory block");
}

// Some after the other, as there may be no memory for all.
Status Executor::check_addresses() {
  for (std::span<const TensorArgument> left = arguments(); !left.empty();) {
    const size_t count = std::min(left.size(), kUsualArguments);
    NPU_QUANT_RETURN_IF_ERROR(check_addresses(left.first(count)));
    left = left.subspan(count);
  }
  return {};
}

Status Executor::run() {
  const std::lock_guard<LongMutex> lock(mutex_);
  NPU_QUANT_RETURN_IF_ERROR(check_addresses());
  if (moved_) NPU_QUANT_RETURN_IF_ERROR(op_.check_outputs(outputs_at_));
  return op_.run(outputs_at_);
}

aclnnStatus check_results(const Function& function, const uint64_t* workspace_size,
                          aclOpExecutor* const* executor) {
  if (workspace_size == nullptr)
    return report(ACLNN_ERR_PARAM_NULLPTR, function.name, "workspaceSize is NULL.");
  if (executor == nullptr)
    return report(ACLNN_ERR_PARAM_NULLPTR, function.name, "executor is NULL.");
  return OK;
}

aclnnStatus finish_phase_1(std::shared_ptr<Executor> executor, uint64_t* workspace_size,
                           aclOpExecutor** result) {
  const Function& function = executor->function;
  if (const Status status = executor->check(); !status.ok())
    return executor->report(status, Phase::one);
  aclOpExecutor* const handle = executors().add(std::move(executor));
  if (handle == nullptr)
    return report(ACLNN_ERR_INNER_CREATE_EXECUTOR, function.name, "there are too many executors.");
  *workspace_size = 0;
  *result = handle;
  return OK;
}

aclnnStatus launch(const Function& function, void* workspace, uint64_t workspace_size,
                   aclOpExecutor* executor, aclrtStream stream) {
  return guarded(function.name, ACLNN_ERR_INNER, ACLNN_ERR_INNER,
                 [&] { return run(function, workspace, workspace_size, executor, stream); });
}

}  // namespace npu_quant::aclnn

using namespace npu_quant::aclnn;

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  if (executor == nullptr) return report(ACLNN_ERR_INNER_NULLPTR, __func__, "executor is NULL.");
  const bool found = executors().with(executor, [](auto& kept) { kept->is_repeatable = true; });
  return found ? OK : stale_executor(__func__);
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  if (executor == nullptr) return report(ACLNN_ERR_INNER_NULLPTR, __func__, "executor is NULL.");
  return executors().remove(executor) ? OK : stale_executor(__func__);
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return refresh_tensor(__func__, is_input, executor, index, tensor, addr);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return refresh_tensor(__func__, is_output, executor, index, tensor, addr);
}
aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* addr) {
  return refresh_tensor(__func__, is_any, executor, index, tensor, addr);
}
aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                         const size_t relativeIndex, aclTensorList* tensors,
                                         void* addr) {
  return refresh_list(__func__, is_input, executor, irIndex, relativeIndex, tensors, addr);
}
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                          const size_t relativeIndex, aclTensorList* tensors,
                                          void* addr) {
  return refresh_list(__func__, is_output, executor, irIndex, relativeIndex, tensors, addr);
}
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                    const size_t relativeIndex, aclTensorList* tensors,
                                    void* addr) {
  return refresh_list(__func__, is_any, executor, irIndex, relativeIndex, tensors, addr);
}

// The same under their other spelling.
aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return aclSetInputTensorAddr(executor, index, tensor, addr);
}
aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return aclSetOutputTensorAddr(executor, index, tensor, addr);
}
aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* addr) {
  return aclSetTensorAddr(executor, index, tensor, addr);
}
aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                         const size_t relativeIndex, aclTensorList* tensors,
                                         void* addr) {
  return aclSetDynamicInputTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}
aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                          const size_t relativeIndex, aclTensorList* tensors,
                                          void* addr) {
  return aclSetDynamicOutputTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}
aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                    const size_t relativeIndex, aclTensorList* tensors,
                                    void* addr) {
  return aclSetDynamicTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}
