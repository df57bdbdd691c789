// The arrays an op computes, and the rules about them.
#pragma once

#include <vector>

#include "ops/contract/inputs.h"

namespace npu_quant {

// No op has more; the faces make room for so many.
inline constexpr int kMostOutputs = 5;

// An array an op computes: what a caller has to allocate.
struct OutputSpec {
  const char* name;  // empty where it is the only one
  DType dtype;
  Shape shape;
  const TensorView* input = nullptr;  // where it is written into one, whose name it has

  Part subject() const { return input != nullptr ? Part(Argument(name)) : Part(Output(name)); }
};
using OutputSpecs = Few<OutputSpec, kMostOutputs>;

// The array of the codes of so many elements: of that dtype, or else of NumPy's for the format; of
// a format that there is not, no dtype.
OutputSpec codes_of(const char* name, Format format, Shape shape, DType array = DType::other);

Status out_not_a_tuple(const char* op, const std::string& type, const OutputSpecs& specs);
Status wrong_out_length(const char* op, int length, const OutputSpecs& specs);

// A caller's outputs: dtype and rank first, then shape, writable, apart from each other and from
// the inputs. Absent ones are skipped.
Status check_output_types(const char* op, const OutputSpecs& specs, const TensorView* outputs);
Status check_apart(const char* op, const OutputSpec& spec, const TensorView& out,
                   const OutputSpec& other_spec, const TensorView& other);
Status check_outputs(const char* op, const Inputs& inputs, const OutputSpecs& specs,
                     const TensorView* outputs);

// Whether each of many outputs shares no bytes with another or with an input.
struct Occupied {
  TensorView::Bounds bounds;
  bool is_output;
};
Occupied occupied_by(const TensorView& view, bool is_output);
bool are_outputs_apart(std::vector<Occupied>& all);  // sorts them

}  // namespace npu_quant
