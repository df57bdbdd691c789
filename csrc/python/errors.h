// From a Status, or whatever C++ throws, to the Python exception it stands for.
#pragma once

#include <pybind11/pybind11.h>

#include "ops/contract/contract.h"

namespace npu_quant::python {

namespace py = pybind11;

// aclnn's: https://gitcode.com/cann/ops-nn docs/zh/context/aclnn_return_code.md.
enum class Code : int { param_nullptr = 161001, param_invalid = 161002, tiling_error = 561002 };

// Raises DTypeError, ParamError or MemoryError unless the status is ok. `param_code` is the .code
// of a ParamError.
void raise_unless_ok(const Status& status, Code param_code = Code::param_invalid);

// Turns the exception that is being handled into the Python error.
void set_python_error() noexcept;

}  // namespace npu_quant::python
