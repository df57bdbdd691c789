// How a contract says no: the kind of fault, and a sentence for the user.
#pragma once

#include <string>

namespace npu_quant {

enum class Fault {
  none,
  missing,      // a required argument is not there
  dtype,        // of a tensor
  unavailable,  // allowed by the operator's document, not built yet
  rank,
  shape,  // of one tensor in relation to another
  attribute,
  overlap,  // an output shares memory
  memory,   // there is none left
};

struct Status {
  Fault fault = Fault::none;
  std::string message;  // names op, argument, what came, what is allowed
  std::string remedy;   // what to do in Python; may be empty

  bool ok() const { return fault == Fault::none; }
};

}  // namespace npu_quant

// Leaves the function with the first status that is not ok.
#define NPU_QUANT_RETURN_IF_ERROR(expression) \
  if (::npu_quant::Status status_ = (expression); !status_.ok()) return status_
