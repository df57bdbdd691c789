// Every function of an operator, with arguments that it takes and what it makes of them: for tests
// that go through all functions, and for tables that say what changes with other arguments.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "op_checks.h"

namespace npu_quant::testing {

// A tensor. Its elements are numbers that its dtype holds exactly, or bytes where it holds codes of
// floats or of 4 bits; no elements are ones. Those of an output are what is expected in it: an
// int32 is four bytes, an int64 eight.
struct Given {
  aclDataType dtype = ACL_DT_UNDEFINED;  // as it is: the tensor is NULL
  Dims shape = {};
  std::vector<float> elements = {};
  Dims strides = {};  // none: contiguous
  int64_t offset = 0;
};
inline const Given kNull;

using Attribute = std::variant<int64_t, double, bool, const char*>;
inline constexpr int64_t kThatOfY = -1000;  // of dstType: the dtype of the first output

// A parameter of a function and what it gets. A list gets one tensor, and has the name of that:
// "x[0]".
struct Parameter {
  Parameter(const char* name, Given tensor, bool may_be_null = false)
      : name(name), tensor(std::move(tensor)), is_tensor(true), may_be_null(may_be_null) {}
  Parameter(const char* name, Attribute attribute) : name(name), attribute(attribute) {}

  bool is_output() const {
    return name == "y" || name == "out" || name == "mask" || name == "weightInt4Pack" ||
           name == "selfRef" ||  // also an input
           name == "out[0]" || name == "output" || name == "outputScale" ||
           (name.size() > 3 && name.compare(name.size() - 3, 3, "Out") == 0);
  }

  // Of a list as a whole.
  std::string own_name() const { return name.substr(0, name.find('[')); }

  std::string name;
  Given tensor;
  Attribute attribute;
  bool is_tensor = false, may_be_null = false;
};
using Parameters = std::vector<Parameter>;
inline Parameters with(Parameters some, const Parameters& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

using Argument = std::variant<aclTensor*, Attribute>;
using Arguments = std::vector<Argument>;

// A function's first phase takes any arguments of the right kinds.
using Phase1 = std::function<aclnnStatus(const Arguments&, uint64_t*, aclOpExecutor**)>;
using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

struct Function {
  const char* family;
  int version;
  Phase1 phase1;
  Phase2 phase2;
  Parameters parameters;
  aclnnStatus shape_code = 161002, attribute_code = 161002;

  std::string name() const {
    return family + (version > 1 ? "V" + std::to_string(version) : std::string());
  }
  bool takes(const Parameters& changes) const;  // has those of them that are no results
};
inline void PrintTo(const Function& function, std::ostream* stream) { *stream << function.name(); }

// All of them.
const std::vector<Function>& all_functions();
// The versions of a function, or one of them: "aclnnFoo", "aclnnFooV1".
std::vector<Function> functions_of(const std::string& name);

// A function with its arguments, but for what is changed, in memory of their own.
class Call {
 public:
  explicit Call(const Function& function, const Parameters& changes = {});

  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    return function_.phase1(arguments, size, executor);
  }
  Phase2 phase2() const { return function_.phase2; }
  void expect_results() const;  // in the outputs that are there

  Parameters parameters;
  std::vector<Tensor> tensors;  // one for each parameter, NULL for attributes
  Arguments arguments;

 private:
  Function function_;
};

// Whether two codes share a byte.
bool is_packed(aclDataType dtype);

// The tensor of a parameter; an output's holds 77 everywhere.
Tensor tensor_of(const Parameter& parameter);

}  // namespace npu_quant::testing
