#include "ops/contract/contract.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "ops/contract/choice.h"

namespace npu_quant {

int64_t work_bytes(int64_t bytes, std::initializer_list<const TensorView*> tensors) {
  constexpr int64_t kStridedCost = 4;
  for (const TensorView* tensor : tensors)
    if (tensor->present && tensor->rank > 0 &&
        tensor->strides[tensor->rank - 1] != size_of(tensor->dtype))
      return bytes * kStridedCost;
  return bytes;
}

std::string dimensions(int rank) {
  return std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
}

std::string to_string(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::string to_integer_string(double number) {
  char text[400];
  std::snprintf(text, sizeof text, "%.0f", number);
  return text;
}

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 60;
  if (text.size() <= kMost) return std::string(text);
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // inside UTF-8
  return std::string(text.substr(0, end)) + "...";
}

std::string with_article(const std::string& type) {
  const bool vowel = !type.empty() && std::strchr("aeiouAEIOU", type[0]) != nullptr;
  return (vowel ? "an " : "a ") + shortened(type);
}

std::string quoted(std::string_view text) {
  std::string line = shortened(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = '?';  // messages are one line
  return "'" + line + "'";
}

Text the_dtype(const NamedView& of) {
  return {"the dtype of ", Argument(of.name), " (", DTypeOf(of.view), ")"};
}

Text the_shape(const NamedView& of) {
  return {"the shape of ", Argument(of.name), ", ", of.view.shape};
}

Text with_shape(const NamedView& of) { return {Argument(of.name), " of shape ", of.view.shape}; }

Text has_rank(const NamedView& of) {
  return {": ", Argument(of.name), " has ", dimensions(of.view.rank)};
}

Text holds(const NamedView& of, Format codes) {
  return {": ", Argument(of.name), " of ", DTypeOf(of.view), " holds ", codes};
}

Text none_or_held(const NamedView& of, Format codes) {
  const Text allowed{"expected ", Nothing(), " or "};
  if (format_of(of.view.dtype) == codes) return allowed + the_dtype(of);
  return allowed + Text{codes} + holds(of, codes);
}

Status fault(const char* op, Fault kind, const Text& subject, const Text& came, const Text& allowed,
             std::string remedy) {
  return Status({kind, op, subject, came, allowed, std::move(remedy)});
}

Status missing(const char* op, const char* argument) {
  return fault(op, Fault::missing, {Argument(argument)}, {"is ", Nothing()},
               "expected a numpy.ndarray");
}

Status not_an_array(const char* op, const Part& argument, const std::string& type,
                    const std::string& remedy) {
  return fault(op, Fault::dtype, {argument}, {"is ", with_article(type)},
               "expected a numpy.ndarray", remedy);
}

Status out_of_memory(const char* op) { return fault(op, Fault::memory, {}, "out of memory"); }

Status check_numerics(const char* op, std::string_view name, bool has_profiles,
                      Numerics& numerics) {
  std::string available;
  if (find_numerics(name, numerics, available)) return {};
  if (!has_profiles) available = name_of(Profile::reference);
  return fault(op, Fault::unavailable, {Argument("numerics")}, {"is ", quoted(name)},
               {"available: ", available});
}

Status check_num_threads(int64_t n) {
  if (n >= 1 && n <= 4096) return {};
  return wrong_attribute("set_num_threads", "n", n, "expected a whole number from 1 to 4096");
}

Status check_size(const char* op, const char* argument, const TensorView& view) {
  constexpr int64_t kMost = int64_t{1} << 52;
  if (view.shape.has_at_most(kMost)) return {};
  return wrong_shape(op, argument, view,
                     {"expected at most ", kMost, " elements, counting axes of length 0 as 1"});
}

bool is_no_such_rank(const TensorView& view, const Shape& expected) {
  return view.rank > kMaxRank || (view.rank == 0 && expected.rank > 0);
}

Status check_same_shape(const char* op, const char* argument, const TensorView& view,
                        const char* other_name, const TensorView& other) {
  if (!view.present || (view.shape == other.shape && view.rank == other.rank)) return {};
  const Text allowed = "expected " + the_shape({other_name, other});
  if (is_no_such_rank(view, other.shape))
    return fault(op, Fault::rank, {Argument(argument)}, {"has ", dimensions(view.rank)}, allowed);
  return wrong_shape(op, argument, view, allowed);
}

Status check_channel_axis(const char* op, int64_t axis, const TensorView& x, const char* x_name,
                          int& place) {
  if (axis >= -x.rank && axis < x.rank) {
    place = static_cast<int>(axis < 0 ? axis + x.rank : axis);
    return {};
  }
  const Text range = x.rank == 0 ? "no axis" : Text{-x.rank, " to ", x.rank - 1};
  return wrong_attribute(op, "axis", axis, "expected " + range + has_rank({x_name, x}));
}

Shape rows_of(Shape shape) {
  --shape.rank;
  return shape;
}

Shape shape_along(const Shape& x, int axis, int rank) {
  const int64_t length = axis < x.rank ? x.dims[axis] : 1;
  Shape shape{rank, {}};
  for (int i = 0; i < rank; ++i) shape.dims[i] = rank == 1 || i == axis ? length : 1;
  return shape;
}

Status wrong_shape(const char* op, const char* argument, const TensorView& view,
                   const Text& allowed, std::string remedy) {
  return fault(op, Fault::shape, {Argument(argument)}, {"has shape ", view.shape}, allowed,
               std::move(remedy));
}

Status wrong_attribute(const char* op, const char* argument, const Part& came,
                       const Text& allowed) {
  return fault(op, Fault::attribute, {Argument(argument)}, {"is ", came}, allowed);
}

namespace {

// torch_npu writes ACL's codes so, and torch's below.
std::string torch_npu_code(Format format) { return std::to_string(256 + static_cast<int>(format)); }

// A misspelt name: which one is meant. ACL's code where torch_npu takes a number for torch's: which
// number is meant.
std::string format_remedy(const DTypeRequest& request, std::span<const Format> available) {
  for (const Format format : request.near)
    if (is_among(format, available)) return "Did you mean " + std::string(name_of(format)) + "?";
  for (const Format format : available)
    if (request.number == static_cast<int>(format))
      return "Numbers below 256 are torch's codes; torch_npu's code of " +
             std::string(name_of(format)) + " is " + torch_npu_code(format) + ".";
  return "Pass torch_npu's code (" + joined(available, torch_npu_code) +
         "), a dtype or a dtype's name.";
}

}  // namespace

Status check_format_in(const char* op, const char* argument, const DTypeRequest& request,
                       std::span<const Format> available) {
  if (request.is_default || is_among(request.format, available)) return {};
  return wrong_format(op, argument, request, available);
}

Status wrong_format(const char* op, const char* argument, const DTypeRequest& request,
                    std::span<const Format> available, const Text& where) {
  Text allowed = "available: ";
  allowed += listed(available, ", ");
  allowed += where;
  return fault(op, Fault::unavailable, {Argument(argument)}, {"is ", request.came()}, allowed,
               format_remedy(request, available));
}

Status check_dst_type(const char* op, const DTypeRequest& dst_type,
                      std::span<const Format> available) {
  return check_format_in(op, "dst_type", dst_type, available);
}

Status check_round_mode(const char* op, const RoundMode& round_mode, Format codes) {
  const bool is_hifloat8 = codes == Format::hifloat8;
  if ((round_mode.value() == Rounding::away_from_zero) == is_hifloat8) return {};
  return wrong_attribute(op, "round_mode", quoted(round_mode.word()),
                         is_hifloat8
                             ? Text{"available for ", codes, ": 'round' (ties away from zero)"}
                             : Text("available: 'rint'"));
}

Format codes_asked_for(const DTypeRequest& dst_type) {
  return is_among(dst_type.format, kCodeFormats) ? dst_type.format : Format::int8;
}

Status check_packable(const char* op, const char* argument, const TensorView& view, Format codes,
                      DType array) {
  const int64_t together = codes_per_element(codes, array);
  if (together == 1 || (view.rank > 0 && view.shape.dims[view.rank - 1] % together == 0)) return {};
  return wrong_shape(op, argument, view,
                     {"expected a last axis of a multiple of ", together, ": an element of ", array,
                      " holds ", together, " codes of ", codes});
}

Status check_bound(const char* op, const char* argument, double bound) {
  // From here on a double rounds to infinity in float32; no conversion, which would round the
  // caller's way.
  constexpr double kInfiniteInFloat = 0x1.ffffffp127;
  if (bound >= 0 && bound < kInfiniteInFloat) return {};
  return wrong_attribute(
      op, argument, to_string(bound),
      {"expected a number >= 0 that is finite in ", Format::float32, " (0 means no bound)"});
}

Status check_dst_type_max(const char* op, double dst_type_max, Format codes) {
  // Above this a double is at least 1e-6f in float32; no conversion, which would round the caller's
  // way.
  constexpr double kBelow = (double{0x1.0c6f78p-20f} + double{0x1.0c6f7ap-20f}) / 2;
  constexpr double kGreatest = 32768;
  if (dst_type_max == 0.0) return {};
  const bool is_allowed = dst_type_max > kBelow && dst_type_max <= kGreatest;
  if (codes == Format::hifloat8 && is_allowed) return {};
  return wrong_attribute(op, "dst_type_max", to_string(dst_type_max),
                         codes == Format::hifloat8
                             ? Text("expected 0 or a number from 1e-06 to 32768")
                             : Text{"available: 0.0 (other values need ", Format::hifloat8, ")"});
}

}  // namespace npu_quant
