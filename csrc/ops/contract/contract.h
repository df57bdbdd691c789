// The checks every op shares and the sentences they say no with. A rule is stated once, here or in
// its op.
//
// Every function returns an ok Status or the fault: its kind, and what names op, argument, what
// came and what is allowed.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/numerics.h"
#include "core/status.h"
#include "core/tensor.h"

namespace npu_quant {

// A format a caller names: torch_npu's code, a dtype object or its name.
struct DTypeRequest {
  bool is_default = true;
  Format format = Format::other;
  std::string text = {};          // what came, where that is no format
  int64_t number = -1;            // as which it came in Python, where it did
  DType array = DType::other;     // of an aclTensor that is to hold it
  std::vector<Format> near = {};  // whose names are like the text, the likest first

  Part came() const {
    if (is_default) return Nothing();
    return format == Format::other ? Part(text) : Part(format);
  }
};

// Mind that a status is made where there is a fault only: it allocates. Cold: what leads there is
// kept apart, so that the checks of a call that is in order lie close together.
[[gnu::cold]] Status fault(const char* op, Fault kind, const Text& subject, const Text& came,
                           const Text& allowed = {}, std::string remedy = {});
[[gnu::cold]] Status missing(const char* op, const char* argument);
Status not_an_array(const char* op, const Part& argument, const std::string& type,
                    const std::string& remedy);
Status out_of_memory(const char* op);

std::string dimensions(int rank);                   // "1 dimension", "2 dimensions"
std::string to_string(double number);               // shortest of the usual forms
std::string to_integer_string(double number);       // all its digits
std::string shortened(std::string_view text);       // at most 60 bytes, whole characters
std::string with_article(const std::string& type);  // "an int", shortened
std::string quoted(std::string_view text);          // shortened, in quotes

// An array by the operator's name for it, and the words for it in sentences.
struct NamedView {
  const char* name;
  const TensorView& view;
};
Text the_dtype(const NamedView& of);            // "the dtype of x (float16)"
Text the_shape(const NamedView& of);            // "the shape of x, (2, 4)"
Text with_shape(const NamedView& of);           // "x of shape (2, 4)"
Text has_rank(const NamedView& of);             // ": x has 2 dimensions"
Text holds(const NamedView& of, Format codes);  // ": x of int32 holds int4"
// "expected None or int4: x of int32 holds int4", "expected None or the dtype of x (int8)"
Text none_or_held(const NamedView& of, Format codes);

// "a, b, c" of what show() makes of each, or "a, b<last>c".
template <class Items, class Show>
std::string joined(const Items& items, Show show, const char* last = ", ") {
  std::string text;
  auto left = std::size(items);
  for (const auto& item : items) {
    if (!text.empty()) text += left == 1 ? last : ", ";
    text += show(item);
    --left;
  }
  return text;
}

template <class Value, class Values>
bool is_among(const Value& value, const Values& values) {
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

// The same of dtypes or formats, which each face calls by its own words.
template <class Types>
Text listed(const Types& types, const char* last) {
  Text text;
  auto left = std::size(types);
  for (const auto type : types) {
    text += {type};
    if (--left > 0) text += {left == 1 ? last : ", "};
  }
  return text;
}

// How much work is in tensors whose elements are so many bytes altogether: elements that are not
// neighbours take longer.
int64_t work_bytes(int64_t bytes, std::initializer_list<const TensorView*> tensors);

// No memory holds more elements, though a view whose strides are 0 may count them. Of so many, all
// numbers of bytes, of codes and of results fit into an int64_t.
Status check_size(const char* op, const char* argument, const TensorView& view);
// Whether the rank alone rules a shape out, whatever the shape that is expected.
bool is_no_such_rank(const TensorView& view, const Shape& expected);
// `argument` must have the shape of another array.
Status check_same_shape(const char* op, const char* argument, const TensorView& view,
                        const char* other_name, const TensorView& other);
// The place of an axis of x, which may be negative.
Status check_channel_axis(const char* op, int64_t axis, const TensorView& x, const char* x_name,
                          int& place);
// Of what each row of a shape has one of: without its last axis.
Shape rows_of(Shape shape);
// What lies along that axis of a shape, as one of so many axes; where it is the rank, one element.
Shape shape_along(const Shape& x, int axis, int rank);
Status wrong_shape(const char* op, const char* argument, const TensorView& view,
                   const Text& allowed, std::string remedy = {});
[[gnu::cold]] Status wrong_attribute(const char* op, const char* argument, const Part& came,
                                     const Text& allowed);
// The formats of codes that operators give.
inline constexpr Format kCodeFormats[] = {Format::int8, Format::int4, Format::hifloat8,
                                          Format::float8_e5m2, Format::float8_e4m3fn};
inline constexpr Format kMxFormats[] = {Format::float8_e5m2, Format::float8_e4m3fn,
                                        Format::float4_e2m1, Format::float4_e1m2};
// One of several, or what is the default.
Status check_format_in(const char* op, const char* argument, const DTypeRequest& request,
                       std::span<const Format> available);
// Where it is none of them; `where` is that these alone are available.
[[gnu::cold]] Status wrong_format(const char* op, const char* argument, const DTypeRequest& request,
                                  std::span<const Format> available, const Text& where = {});
Status check_dst_type(const char* op, const DTypeRequest& dst_type,
                      std::span<const Format> available);
// int8 where that is the default, or where it is none of kCodeFormats, which check_dst_type says.
Format codes_asked_for(const DTypeRequest& dst_type);
// Where codes of less than a byte are to share elements of an array, as many as fill one.
Status check_packable(const char* op, const char* argument, const TensorView& view, Format codes,
                      DType array);
// A bound in float32: 0 or more, and finite.
Status check_bound(const char* op, const char* argument, double bound);
// What amax becomes in hifloat8, if it is not 0.
Status check_dst_type_max(const char* op, double dst_type_max, Format codes);

// The profile of that name, which an operator may have: `reference` all have.
Status check_numerics(const char* op, std::string_view name, bool has_profiles, Numerics& numerics);
Status check_num_threads(int64_t n);

}  // namespace npu_quant
