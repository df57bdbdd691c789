#include "ops/contract/outputs.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace npu_quant {
namespace {

struct Axis {
  int64_t stride, dim;
};

int64_t offset_of(int64_t element, const Axis* axes, int count) {
  int64_t offset = 0;
  for (int a = 0; a < count; ++a) {
    offset += element % axes[a].dim * axes[a].stride;
    element /= axes[a].dim;
  }
  return offset;
}

// Exact, for the rare views that the quick test below cannot settle: where there are few elements
// in a wide range their offsets are sorted, else every byte is marked.
bool overlaps_by_sorting(const Axis* axes, int count, int64_t elements, int64_t item) {
  std::vector<int64_t> offsets(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i)
    offsets[static_cast<size_t>(i)] = offset_of(i, axes, count);
  std::sort(offsets.begin(), offsets.end());
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] - offsets[i - 1] < item) return true;
  return false;
}
bool overlaps_by_marking(const Axis* axes, int count, int64_t elements, int64_t item,
                         int64_t extent) {
  std::vector<bool> taken(static_cast<size_t>(extent));
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t offset = offset_of(i, axes, count);
    for (int64_t byte = offset; byte < offset + item; ++byte) {
      if (taken[static_cast<size_t>(byte)]) return true;
      taken[static_cast<size_t>(byte)] = true;
    }
  }
  return false;
}

// Axes that each step over all that comes before them.
bool are_apart(const Axis* axes, int count, int64_t item) {
  int64_t extent = item;
  for (int a = 0; a < count; ++a) {
    if (axes[a].stride < extent) return false;
    extent += axes[a].stride * (axes[a].dim - 1);
  }
  return true;
}

// Whether two elements share a byte.
bool overlaps_itself(const TensorView& view) {
  const int64_t item = size_of(view.dtype), kWide = 64;
  Axis axes[kMaxRank];
  int count = 0;
  for (int i = view.shape.rank; i-- > 0;)
    if (view.shape.dims[i] > 1) axes[count++] = {std::abs(view.strides[i]), view.shape.dims[i]};
  if (are_apart(axes, count, item) || view.is_packed()) return false;
  const int64_t elements = view.shape.size();
  if (elements == 0) return false;
  for (int end = 1; end < count; ++end)
    for (int a = end; a > 0 && axes[a - 1].stride > axes[a].stride; --a)
      std::swap(axes[a - 1], axes[a]);
  if (axes[0].stride == 0) return true;
  if (are_apart(axes, count, item)) return false;
  int64_t extent = item;
  for (int a = 0; a < count; ++a) extent += axes[a].stride * (axes[a].dim - 1);
  if (elements * item > extent) return true;
  if (elements < extent / kWide) return overlaps_by_sorting(axes, count, elements, item);
  return overlaps_by_marking(axes, count, elements, item, extent);
}

// Empty where a tensor is absent or has no address yet.
TensorView::Bounds bounds_of(const TensorView& view) {
  if (!view.present || view.data == nullptr) return {nullptr, nullptr};
  return view.bounds();
}

bool share_bytes(const TensorView::Bounds& a, const TensorView::Bounds& b) {
  return a.begin < b.end && b.begin < a.end && a.begin != a.end && b.begin != b.end;
}

Status check_output(const char* op, const OutputSpec& spec, const TensorView& out) {
  if (!(out.shape == spec.shape))
    return fault(op, Fault::shape, {spec.subject()}, {"has shape ", out.shape},
                 {"expected ", spec.shape});
  if (!out.writable)
    return fault(op, Fault::overlap, {spec.subject()}, "is read-only", {},
                 "Pass a writable array.");
  if (overlaps_itself(out))
    return fault(op, Fault::overlap, {spec.subject()},
                 "overlaps itself: some of its elements share memory", {}, "Pass a copy.");
  return {};
}

std::string names_of(const OutputSpecs& specs) {
  return "(" + joined(specs, [](const OutputSpec& spec) { return spec.name; }) + ")";
}

constexpr const char kNotWanted[] = ", with None for an output that is not wanted";

}  // namespace

OutputSpec codes_of(const char* name, Format format, Shape shape, DType array) {
  const FormatRow* const row = find_row(format);
  if (array == DType::other && row != nullptr) array = row->carrier;
  if (shape.rank > 0) shape.dims[shape.rank - 1] /= codes_per_element(format, array);
  return {name, array, shape};
}

Status out_not_a_tuple(const char* op, const std::string& type, const OutputSpecs& specs) {
  return fault(op, Fault::dtype, {Output("")}, {"is ", with_article(type)},
               {"expected a tuple ", names_of(specs), " of arrays", kNotWanted});
}

Status wrong_out_length(const char* op, int length, const OutputSpecs& specs) {
  return fault(op, Fault::shape, {Output("")},
               {"has ", length, length == 1 ? " entry" : " entries"},
               {"expected ", specs.size(), ": ", names_of(specs), kNotWanted});
}

Status check_output_types(const char* op, const OutputSpecs& specs, const TensorView* outputs) {
  for (const OutputSpec& spec : specs) {
    const TensorView& out = *outputs++;
    if (!out.present) continue;
    if (out.dtype != spec.dtype)
      return fault(op, Fault::dtype, {spec.subject()}, {"has dtype ", DTypeOf(out)},
                   {"expected ", spec.dtype});
    if (is_no_such_rank(out, spec.shape))
      return fault(op, Fault::rank, {spec.subject()}, {"has ", dimensions(out.rank)},
                   {"expected shape ", spec.shape});
  }
  return {};
}

Status check_apart(const char* op, const OutputSpec& spec, const TensorView& out,
                   const OutputSpec& other_spec, const TensorView& other) {
  if (!share_bytes(bounds_of(other), bounds_of(out))) return {};
  return fault(op, Fault::overlap, {spec.subject()},
               {"shares memory with ", Output(other_spec.name)});
}

Status check_outputs(const char* op, const Inputs& inputs, const OutputSpecs& specs,
                     const TensorView* outputs) try {
  NPU_QUANT_RETURN_IF_ERROR(check_output_types(op, specs, outputs));
  TensorView::Bounds of_inputs[kMostInputs];
  int given[kMostInputs], count = 0;
  for (int i = 0; i < inputs.size(); ++i)
    if (inputs[i].view->present) {
      of_inputs[count] = bounds_of(*inputs[i].view);
      given[count++] = i;
    }
  for (int i = 0; i < specs.size(); ++i) {
    if (!outputs[i].present) continue;
    const TensorView::Bounds of_output = bounds_of(outputs[i]);
    NPU_QUANT_RETURN_IF_ERROR(check_output(op, specs[i], outputs[i]));
    for (int j = 0; j < count; ++j)
      if (inputs[given[j]].view != specs[i].input && share_bytes(of_inputs[j], of_output))
        return fault(op, Fault::overlap, {specs[i].subject()},
                     {"shares memory with ", Argument(inputs[given[j]].name)}, {},
                     "Pass a fresh array.");
    for (int j = 0; j < i; ++j)
      NPU_QUANT_RETURN_IF_ERROR(check_apart(op, specs[i], outputs[i], specs[j], outputs[j]));
  }
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory(op);
}

Occupied occupied_by(const TensorView& view, bool is_output) {
  return {bounds_of(view), is_output};
}

// Each has to begin behind all outputs that begin before it, and an output behind all inputs.
bool are_outputs_apart(std::vector<Occupied>& all) {
  std::erase_if(all, [](const Occupied& one) { return one.bounds.begin == one.bounds.end; });
  std::sort(all.begin(), all.end(),
            [](const Occupied& a, const Occupied& b) { return a.bounds.begin < b.bounds.begin; });
  const char *of_inputs = nullptr, *of_outputs = nullptr;  // the furthest ends
  for (const auto& [bounds, is_output] : all) {
    if (bounds.begin < of_outputs || (is_output && bounds.begin < of_inputs)) return false;
    const char*& furthest = is_output ? of_outputs : of_inputs;
    furthest = std::max(furthest, bounds.end);
  }
  return true;
}

}  // namespace npu_quant
