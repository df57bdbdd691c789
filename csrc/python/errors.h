// From a Status, or whatever C++ throws, to the Python exception it stands for.
#pragma once

#include <pybind11/pybind11.h>

#include "ops/contract.h"

namespace npu_quant::python {

namespace py = pybind11;

// Raises DTypeError, ParamError or MemoryError unless the status is ok.
void raise_unless_ok(const Status& status);

// Turns the exception that is being handled into the Python error.
void set_python_error() noexcept;

}  // namespace npu_quant::python
