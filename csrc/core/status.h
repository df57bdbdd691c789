// How a contract says no: the kind of fault, and what there is to say about it.
#pragma once

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

// One pointer, and no code to speak of where there is no fault: a call returns many.
class Status {
 public:
  Status() = default;
  explicit Status(Refusal refusal);
  Status(const Status& other);
  Status(Status&& other) noexcept : refusal_(std::exchange(other.refusal_, nullptr)) {}
  Status& operator=(Status other) noexcept { return std::swap(refusal_, other.refusal_), *this; }
  [[gnu::always_inline]] ~Status() {
    if (!ok()) drop();
  }

  bool ok() const { return refusal_ == nullptr; }
  Fault fault() const { return ok() ? Fault::none : refusal_->fault; }
  const Refusal& refusal() const { return *refusal_; }  // where there is a fault

 private:
  [[gnu::cold]] void drop();

  const Refusal* refusal_ = nullptr;
};

// In a face's words, without the operator's name and the remedy: "<subject> <came>, <allowed>."
std::string sentence_of(const Status& status, const Words& words = plain_word);
// All but the remedy, in the operators' own words; empty where there is no fault.
std::string message_of(const Status& status);

}  // namespace npu_quant

// Leaves the function with the first status that is not ok.
#define NPU_QUANT_RETURN_IF_ERROR(expression) \
  if (::npu_quant::Status status_ = (expression); !status_.ok()) return status_
