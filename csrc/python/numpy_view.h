// NumPy arrays and Python arguments as the ops take them, and their answers as Python gets them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "ops/contract.h"

namespace npu_quant::python {

namespace py = pybind11;

// Remembers ml_dtypes.bfloat16 and the package's Python pieces; called once, at import.
void initialise(py::module_& module);

// Raises DTypeError, ParamError or MemoryError unless the status is ok.
void raise_unless_ok(const Status& status);

struct ArrayArgument {
  const char* name;
  py::handle value;
  TensorView& view;
  bool required;
};

// Fills the views: first every required argument must be there, then everything given must be an
// array. The views borrow the arrays; dtype names that are not ours live in `names`.
struct ArrayArguments {
  ArrayArguments(const char* op, std::initializer_list<ArrayArgument> arguments);

 private:
  static constexpr int kMaxNames = 12;
  std::string names_[kMaxNames];
};

// Plain arguments; a wrong kind is a TypeError.
double to_double(const char* op, const char* argument, py::handle value);
int64_t to_int(const char* op, const char* argument, py::handle value);
std::string_view to_string(const char* op, const char* argument, py::handle value);  // borrowed
DTypeRequest to_dtype(const char* op, py::handle value);
Numerics to_numerics(const char* op, py::handle value);

// The arrays a call writes: the caller's `out`, else fresh ones. The result is the tuple of them.
class Outputs {
 public:
  static constexpr int kMax = 4;

  Outputs(const char* op, py::handle out, const OutputSpec* specs, int count);
  const TensorView* views() const { return views_; }
  // An instance of a NamedTuple class over the arrays.
  py::object as(py::handle result_type) &&;

 private:
  void take(const char* op, py::handle out, const OutputSpec* specs);

  int count_;
  py::object arrays_[kMax];
  TensorView views_[kMax];
  std::string names_[kMax];
};

// Runs without the GIL where that is worth a switch; small work keeps it.
template <class Run>
Status run_released(int64_t bytes, Run run) {
  constexpr int64_t kWorthReleasing = 64 << 10;
  if (bytes < kWorthReleasing) return run();
  const py::gil_scoped_release release;
  return run();
}

}  // namespace npu_quant::python
