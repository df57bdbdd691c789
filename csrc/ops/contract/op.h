// What an operator is: a contract that both faces, Python and C, go through in the same phases.
//
// A face makes the op, points the views of inputs() at the caller's arrays and sets the fields of
// attributes(), then calls
//   check_arrays()   where an attribute could not be read: what is wrong with an array comes first
//   check()          every rule about the arguments but the outputs; afterwards `outputs` says what
//                    is computed, and `rule` by which arithmetic. It returns the first fault of: a
//                    required array that is missing, dtypes, ranks, sizes, attributes and profile,
//                    shapes
//   check_elements() the rules about elements that come before those about outputs, for a face
//                    whose elements are there by then, as Python's are
//   check_outputs()  the rules about the arrays the caller gives or the face allocates, as many as
//                    `outputs` has; any may be absent where there are several
//   run()            computes into them. It fails before anything is written, or not at all.
//
// The op owns its attributes and nothing else: arrays are the caller's, and stay where they are
// from the phase that looks at their addresses, check_outputs(), to the end of run(). No other
// check reads an element: in the C API elements come after phase 1, so that run() judges the rest,
// before it writes.
#pragma once

#include "core/cache.h"
#include "ops/contract/attributes.h"
#include "ops/contract/outputs.h"
#include "ops/contract/profiles.h"

namespace npu_quant {

struct Op {
  explicit Op(const char* name) : name(name) {}
  virtual ~Op() = default;

  const char* const name;  // what messages begin with
  Numerics numerics;
  virtual bool has_profiles() const { return false; }  // beside `reference`

  virtual Inputs inputs() = 0;
  virtual Attributes attributes() { return {}; }  // in the order of torch_npu's signature

  Status check_arrays();
  Status check();
  OutputSpecs outputs;
  Rule rule;
  virtual Status check_elements() const { return {}; }
  virtual Status check_outputs(const TensorView* out);
  virtual Status run(const TensorView* out) const = 0;

  int64_t bytes() const { return bytes_; }  // read and written, as check() found

 protected:
  Op(const Op&) = default;

  // The parts of check(), in their order.
  virtual Status check_dtypes(const Inputs& given) const {
    return npu_quant::check_dtypes(name, given);
  }
  virtual Status check_ranks(const Inputs& given) const {
    return npu_quant::check_ranks(name, given);
  }
  virtual void plan_outputs() = 0;  // of arrays and attributes as they came
  virtual Status check_attributes() { return {}; }
  // Makes the rule of the profile, or refuses it: what a device lacks, too.
  virtual Status take_rule() { return check_has_profile(name, numerics.profile); }
  virtual Status check_shapes() { return {}; }

  Status refuse(const char* attribute, const Part& came, const Text& allowed) const {
    return wrong_attribute(name, attribute, came, allowed);
  }

 private:
  int64_t bytes_ = 0;
};

}  // namespace npu_quant
