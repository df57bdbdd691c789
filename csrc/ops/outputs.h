// What an op computes, and the rules about the arrays it is written to.
#pragma once

#include "ops/contract.h"

namespace npu_quant {

// An array an op computes: what a caller has to allocate.
struct OutputSpec {
  const char* name;  // empty where it is the only one
  DType dtype;
  Shape shape;
};

Status out_not_a_tuple(const char* op, const std::string& type, const OutputSpec* specs, int count);
Status wrong_out_length(const char* op, int length, const OutputSpec* specs, int count);

inline constexpr size_t kMostInputs = 8, kMostOutputs = 4;

struct NamedInput {
  const char* name;
  const TensorView& view;
};

// A caller's outputs: dtype and rank first, then shape, writable, apart from each other and from
// the inputs. Absent ones are skipped.
Status check_output_types(const char* op, const OutputSpec* specs, const TensorView* outputs,
                          int count);
Status check_outputs(const char* op, std::initializer_list<NamedInput> inputs,
                     const OutputSpec* specs, const TensorView* outputs, int count);

}  // namespace npu_quant
