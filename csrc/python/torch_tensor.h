// torch's CPU tensors as the ops take and give them, in place. torch is never imported here: who
// has a tensor has done that.
#pragma once

#include "python/numpy_view.h"

namespace npu_quant::python {

bool is_tensor(py::handle value);   // or of a subclass
bool is_scalar(py::handle tensor);  // one without axes, which torch takes where it takes a number

// A fault, with torch's remedy, where its elements are not to be had in place. The view borrows the
// tensor, as those of arrays do.
Status fill_view_of_tensor(TensorView& view, const char* op, const Part& argument,
                           py::handle tensor, Borrowed& borrowed);

// Has torch know that a tensor was written into: no gradient goes by what it held before.
void count_version(py::handle tensor);

// A tensor in the memory of an array, which it keeps.
py::object tensor_over(const py::array& array, DType dtype);

}  // namespace npu_quant::python
