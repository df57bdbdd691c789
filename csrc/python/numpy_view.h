// NumPy arrays as the ops take them, and their answers as Python gets them.
#pragma once

#include <pybind11/numpy.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "ops/outputs.h"
#include "python/arguments.h"

namespace npu_quant::python {

// Remembers ml_dtypes.bfloat16 and NumPy's classes; called once, at import.
void initialise(py::module_& module);

struct ArrayArgument {
  const char* name;
  py::handle value;
  TensorView& view;
  bool required;
};

// The arrays of a call: every required one must be there, then everything given must be an array.
class ArrayArguments {
 public:
  static constexpr size_t kMost = 8;

  ArrayArguments(const char* op, std::initializer_list<ArrayArgument> arguments);

  // Fills the views, which borrow the arrays: no Python code may run from here to the end of the
  // work, since it could resize one; but for that of other threads and of signals, which has to
  // know what it does. Dtype names that are not ours live here.
  void fill_views();

 private:
  size_t count_ = 0;
  py::handle values_[kMost];
  TensorView* views_[kMost];
  std::string names_[kMost];
};

// The arrays a call writes: the caller's `out`, else fresh ones. Where there are several, `out` is
// the tuple of them.
class Outputs {
 public:
  static constexpr int kMax = 4;

  Outputs(const char* op, py::handle out, const OutputSpec* specs, int count, Code param_code);
  const TensorView* views() const { return views_; }
  // The only array, else an instance of a NamedTuple class over all.
  py::object as(py::handle result_type) &&;

 private:
  void take_one(const char* op, py::handle out);
  void take(const char* op, py::handle out, const OutputSpec* specs, Code param_code);

  int count_;
  py::object arrays_[kMax];
  TensorView views_[kMax];
  std::string names_[kMax];
};

}  // namespace npu_quant::python
