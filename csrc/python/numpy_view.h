// NumPy arrays as the ops take them, and their answers as Python gets them.
#pragma once

#include <pybind11/numpy.h>

#include <forward_list>
#include <string>
#include <utility>

#include "ops/op.h"
#include "python/arguments.h"

namespace npu_quant::python {

// Remembers ml_dtypes.bfloat16 and NumPy's classes; called once, at import.
void initialise(py::module_& module);

// Of dtypes that are not ours, which views borrow.
using Names = std::forward_list<std::string>;

// The arrays of a call: every required one must be there, then everything given must be an array.
class ArrayArguments {
 public:
  // The values are those of `inputs`, in their order; inputs that none are left for are not
  // arguments.
  template <size_t count>
  ArrayArguments(const char* op, const Inputs& inputs, const py::handle (&values)[count]) {
    static_assert(count <= kMostInputs);
    take(op, inputs, values, static_cast<int>(count));
  }

  // Fills the views, which borrow the arrays: no Python code may run from here to the end of the
  // work, since it could resize one; but for that of other threads and of signals, which has to
  // know what it does.
  void fill_views();

 private:
  void take(const char* op, const Inputs& inputs, const py::handle* values, int count);

  int count_ = 0;
  py::handle values_[kMostInputs];
  TensorView* views_[kMostInputs];
  Names names_;
};

// The arrays a call writes: the caller's `out`, else fresh ones. Where there are several, `out` is
// the tuple of them.
class Outputs {
 public:
  Outputs(const Op& op, py::handle out, Code param_code);
  const TensorView* views() const { return views_; }
  // The only array, else an instance of a NamedTuple class over all.
  py::object as(py::handle result_type) &&;

 private:
  void take_one(const char* op, py::handle out);
  void take(const Op& op, py::handle out, Code param_code);

  int count_;
  py::object arrays_[kMostOutputs];
  union {  // as many are made as there are outputs
    TensorView views_[kMostOutputs];
  };
  Names names_;
};

}  // namespace npu_quant::python
