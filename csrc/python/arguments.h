// The plain arguments of a call: numbers, names, dtypes. A wrong kind is a TypeError.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "ops/contract/attributes.h"
#include "python/errors.h"
#include "quantizer/scalar_type.h"

namespace npu_quant::python {

// Makes the context variable of the arithmetic profile; called once, at import.
void initialise_arguments(py::module_& module);

// "numpy.ndarray", "list", ...
std::string type_name(py::handle value);

// The elements of a list or a tuple, which is the caller's to change while other code runs.
py::tuple owned_list(const char* op, const char* argument, py::handle value, const char* expected);

// The plain arguments of a call, converted by `convert`, which may run Python code. What goes wrong
// is kept: faults of arrays come first.
class PlainArguments {
 public:
  template <class Convert>
  explicit PlainArguments(Convert convert) {
    try {
      convert();
    } catch (...) {
      fault_ = std::current_exception();
    }
  }
  bool failed() const { return fault_ != nullptr; }
  [[noreturn]] void raise_fault() const { std::rethrow_exception(fault_); }

 private:
  std::exception_ptr fault_;
};

double to_double(const char* op, const char* argument, py::handle value);
int64_t to_int(const char* op, const char* argument, py::handle value);
bool to_bool(const char* op, const char* argument, py::handle value);
std::string_view to_string(const char* op, const char* argument, py::handle value);  // borrowed
// In place, since a request is long.
void to_dtype(const char* op, const char* argument, py::handle value, DTypeRequest& request);
// qint8, quint8 or qint32; the argument is named scalar_type.
ScalarType to_scalar_type(const char* op, py::handle value);
// Of an operator that has others than `reference`, or has not.
Numerics to_numerics(const char* op, py::handle value, bool has_profiles);
// Into the op's field, by its kind. Not inlined: who reads all keeps its place in a register.
[[gnu::noinline]] void read(const char* op, const Attribute& attribute, py::handle value);

}  // namespace npu_quant::python
