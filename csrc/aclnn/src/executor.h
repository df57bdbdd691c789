// The two phases: a call is described and checked in the first, and computed in the second.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aclnn/acl_meta.h"
#include "aclnn/src/arrays.h"
#include "aclnn/src/faults.h"
#include "aclnn/src/mutex.h"
#include "aclnn/src/tensor.h"
#include "ops/contract/environment.h"
#include "ops/contract/op.h"

namespace npu_quant::aclnn {

// A tensor of a call, at its place among the function's parameters.
struct TensorArgument {
  const char* name = nullptr;
  const aclTensor* tensor = nullptr;  // NULL where it is not given
  TensorView* view = nullptr;         // the operator's; there is none of a list that is not given
  void* address = nullptr;            // of the whole tensor
  int64_t offset = 0;                 // of the view in it, in bytes
  bool is_input = true, is_output = false;
  int parameter = 0, element = 0;       // of the function from 1 on, and of the list from 0 on
  const aclTensorList* list = nullptr;  // that it is an element of
};
using Views = std::vector<TensorView*>;

// What phase 1 leaves for phase 2: the operator with all its arguments, tensors snapshotted.
class Executor {
 public:
  // Beside an operator's own, a function may have a few that the operator takes the presence of.
  static constexpr size_t kUsualArguments = kMostInputs + kMostOutputs + 4;

  Executor(const Function& function, Op& op) : function(function), op_(op) {}
  Executor(const Executor&) = delete;
  virtual ~Executor() = default;

  // Phase 1 names every tensor, in the order of the parameters, while it holds the lock of all.
  void input(const char* name, const aclTensor* tensor, TensorView& view);
  void optional_input(const char* name, const aclTensor* tensor, TensorView& view);
  void output(const char* name, const aclTensor* tensor, TensorView& view);
  // An input that the operator writes into.
  void input_and_output(const char* name, const aclTensor* tensor, TensorView& view);
  void optional_output(const char* name, const aclTensor* tensor, TensorView& view);
  // For lists: so many tensors may be named, and where the results are.
  void make_room(size_t arguments, TensorView* results);
  // Each element of a list to a view, "x[0]" to the first; of a list that is not given none.
  void input_list(const char* name, const TensorList& list, const Views& views) {
    add_list({.name = name}, list, views, true);
  }
  void optional_input_list(const char* name, const TensorList& list, const Views& views) {
    add_list({.name = name}, list, views, false);
  }
  void output_list(const char* name, const TensorList& list, const Views& views) {
    add_list({.name = name, .is_input = false, .is_output = true}, list, views, true);
  }

  // What is asked for is the output's dtype. A caller that also names it has to say the same, which
  // is judged when the operator has agreed to that dtype.
  static DTypeRequest request_of(const TensorView& output);
  DTypeRequest request_of(const TensorView& output, int64_t dst_type,
                          const char* attribute = "dstType");
  // The same of codes, one of the function's.
  DTypeRequest codes_of(const TensorView& output);
  DTypeRequest codes_of(const TensorView& output, int64_t dst_type);
  void check_codes(const TensorView& view);

  // Something else that is wrong with the arguments, in the caller's words; a tensor that is
  // missing comes before it.
  void fail(Fault kind, const char* subject, const Text& came, const Text& allowed = {});
  void fail(const Status& fault);
  // Of an optional list. Callers write no list as NULL, an empty one, or one of NULL or of a tensor
  // of shape (0,).
  static bool is_given(const TensorList& list);
  // One that has no meaning here.
  void refuse_list(const char* name, const TensorList& list);
  bool has_failed() const { return !fault_.ok(); }

  Status check();  // everything; then the addresses may still change
  // The first tensor that `is` says yes to gets a new address. All are asked, in their order.
  template <class Is>
  bool set_address(Is is, void* address);
  Status run();

  // Reports a fault of check() or run() and returns its code.
  int report(const Status& fault, Phase phase);

  const Function& function;
  bool is_repeatable = false;
  TensorView outputs[kMostOutputs];

 private:
  void add(const TensorArgument& argument, bool is_required);
  std::span<TensorArgument> arguments() { return room_.first(count_); }
  void add_list(const TensorArgument& like, const TensorList& list, const Views& views,
                bool is_required);
  void compare(const TensorView& output, int64_t dst_type, const char* attribute = "dstType");
  std::string word_for(const Part& part);
  std::string name_of_view(const TensorView* view, const std::string& otherwise);
  Status check_addresses();
  Status check_addresses(std::span<const TensorArgument> some) const;

  Op& op_;
  TensorView* outputs_at_ = outputs;
  TensorArgument usual_[kUsualArguments];
  std::vector<TensorArgument> many_;
  std::span<TensorArgument> room_ = usual_;
  size_t count_ = 0;
  std::list<std::string> names_;  // of elements of lists
  Status fault_;                  // the first one that phase 1 met
  Status mismatch_;               // of dstType
  bool moved_ = false;
  LongMutex mutex_;  // one thread at a time
};

// The executor of an operator of ops/.
template <class Operator>
class Call : public Executor {
 public:
  template <class... Arguments>
  explicit Call(const Function& function, Arguments... arguments)
      : Executor(function, op), op(arguments...) {}

  Operator op;
};

// Ends phase 1 with an executor for the caller, or a code and a message.
aclnnStatus finish_phase_1(std::shared_ptr<Executor> executor, uint64_t* workspace_size,
                           aclOpExecutor** result);
aclnnStatus check_results(const Function& function, const uint64_t* workspace_size,
                          aclOpExecutor* const* executor);

// Phase 1: makes the call and lets `fill` name its tensors and set its attributes.
template <class CallType, class Fill, class... Arguments>
aclnnStatus plan(const Function& function, uint64_t* workspace_size, aclOpExecutor** executor,
                 Fill fill, Arguments... arguments) {
  return guarded(function.name, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&] {
    if (const int code = check_results(function, workspace_size, executor); code != OK) return code;
    auto call = std::make_shared<CallType>(function, arguments...);
    {
      const auto held = tensors().lock();
      fill(*call);
    }
    return finish_phase_1(std::move(call), workspace_size, executor);
  });
}

// Phase 2.
aclnnStatus launch(const Function& function, void* workspace, uint64_t workspace_size,
                   aclOpExecutor* executor, aclrtStream stream);

}  // namespace npu_quant::aclnn

// Defines aclnnFoo(), given the Function.
#define NPU_QUANT_SECOND_PHASE(name, function)                                              \
  aclnnStatus name(void* workspace, uint64_t workspace_size, aclOpExecutor* executor,       \
                   aclrtStream stream) {                                                    \
    return npu_quant::aclnn::launch(function, workspace, workspace_size, executor, stream); \
  }
