// How a contract says no: a code of aclnn's, the kind of fault, and a sentence for the user.
#pragma once

#include <string>

namespace npu_quant {

// https://gitcode.com/cann/ops-nn: docs/zh/context/aclnn_return_code.md
enum class Code : int {
  ok = 0,
  param_nullptr = 161001,
  param_invalid = 161002,
  tiling_error = 561002,
};

// Which exception Python raises.
enum class Fault { none, dtype, param, memory };

struct Status {
  Code code = Code::ok;
  Fault fault = Fault::none;
  std::string message;

  bool ok() const { return fault == Fault::none; }
};

}  // namespace npu_quant

// Leaves the function with the first status that is not ok.
#define NPU_QUANT_RETURN_IF_ERROR(expression) \
  if (::npu_quant::Status status_ = (expression); !status_.ok()) return status_
