// How a contract says no: the kind of fault, and what there is to say about it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/text.h"

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

// "<op>: <subject> <came>, <allowed>. <remedy>", of which allowed and remedy may be empty.
struct Refusal {
  Fault fault;
  std::string op;
  Text subject;        // mostly an argument
  Text came;           // "is None", "has dtype float64"
  Text allowed;        // "expected int8", "available: reference"
  std::string remedy;  // what to do in Python
};

// One pointer, and little code where there is no fault: a call returns many.
struct Status {
  struct Delete {
    [[gnu::cold]] void operator()(const Refusal* refusal) const;
  };

  Status() = default;
  explicit Status(Refusal refusal);
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;
  Status(const Status& other) { *this = other.ok() ? Status() : Status(*other.refusal); }

  bool ok() const { return refusal == nullptr; }
  Fault fault() const { return ok() ? Fault::none : refusal->fault; }

  std::unique_ptr<const Refusal, Delete> refusal;  // where there is a fault
};

// In a face's words, without the operator's name and the remedy: "<subject> <came>, <allowed>."
std::string sentence_of(const Status& status, const Words& words = plain_word);
// All but the remedy, in the operators' own words; empty where there is no fault.
std::string message_of(const Status& status);

}  // namespace npu_quant

// Leaves the function with the first status that is not ok.
#define NPU_QUANT_RETURN_IF_ERROR(expression) \
  if (::npu_quant::Status status_ = (expression); !status_.ok()) return status_
