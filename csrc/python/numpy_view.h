// NumPy arrays, and torch's tensors, as the ops take them, and their answers as Python gets them.
#pragma once

#include <pybind11/numpy.h>

#include <forward_list>
#include <string>
#include <utility>

#include "ops/contract/op.h"
#include "python/arguments.h"

namespace npu_quant::python {

// Remembers ml_dtypes.bfloat16 and NumPy's classes; called once, at import.
void initialise(py::module_& module);

// What views borrow: names of dtypes that are not ours, and what owns the memory of tensors, which
// `tensor.data = other` takes from a tensor at any time.
struct Borrowed {
  std::forward_list<std::string> names;
  std::forward_list<py::object> owners;
};

bool is_array(py::handle value);  // an array or a tensor

// An array in the memory that a view shows, which belongs to `owner`.
py::object array_over(const TensorView& view, py::handle owner);

// The arrays of a call: every required one must be there, then everything given must be an array.
class ArrayArguments {
 public:
  // The values are those of `inputs`, in their order.
  ArrayArguments(const char* op, const Inputs& inputs, PyObject* const* values);

  // Fills the views, which borrow the arrays: no Python code may run from here to the end of the
  // work, since it could resize one; but for that of other threads, of signals and of tensors'
  // subclasses, which has to know what it does.
  void fill_views();

  // Whether the first, which is always there, is torch's: then so are fresh outputs.
  bool begin_with_tensor() const { return (tensors_ & 1) != 0; }

 private:
  void fill_views_and_tensors();

  int count_ = 0;
  unsigned tensors_ = 0;  // a bit for each of the values
  const char* op_;        // set where there are tensors, as their names are
  const char* arguments_[kMostInputs];
  py::handle values_[kMostInputs];
  TensorView* views_[kMostInputs];
  Borrowed borrowed_;
};

// The arrays a call writes: the caller's `out`, arrays or tensors, else fresh ones. Where there are
// several, `out` is the tuple of them.
class Outputs {
 public:
  Outputs(const Op& op, py::handle out, Code param_code);
  const TensorView* views() const { return views_; }
  void turn_into_tensors();  // those that are fresh, before they are handed out
  void count_versions();     // of the caller's tensors, which were written into
  // The only array, else an instance of a NamedTuple class over all.
  py::object as(py::handle result_type) &&;

 private:
  void take(const Op& op, py::handle out, Code param_code);
  void fill_view_of_other(const Op& op, int i);

  int count_;
  py::object arrays_[kMostOutputs];
  union {  // as many are made as there are outputs
    TensorView views_[kMostOutputs];
  };
  Borrowed borrowed_;
};

}  // namespace npu_quant::python
