// Sentences that each face writes in its own words.
//
// What faces call differently is marked as what it is when a sentence is made; nobody looks for it
// among the other words.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace npu_quant {

std::string to_string(const Shape& shape);

struct Part {
  enum class Kind { words, argument, output, dtype, nothing };

  Part(const char* words) : text(words) {}
  Part(std::string words) : text(std::move(words)) {}
  Part(std::integral auto number) : text(std::to_string(number)) {}
  Part(const Shape& shape) : text(to_string(shape)) {}
  Part(Format format) : Part(Kind::dtype, name_of(format)) {}
  Part(DType dtype) : Part(format_of(dtype)) {}
  Part(Kind kind, std::string text) : kind(kind), text(std::move(text)) {}

  Kind kind = Kind::words;
  std::string text;
};

// An operator's argument, by the operator's name for it.
struct Argument : Part {
  explicit Argument(std::string name) : Part(Kind::argument, std::move(name)) {}
};
// One of its outputs; the name is empty where it is the only one.
struct Output : Part {
  explicit Output(std::string name) : Part(Kind::output, std::move(name)) {}
};
// An array's dtype, which may be none of ours.
struct DTypeOf : Part {
  explicit DTypeOf(const TensorView& view) : Part(Kind::dtype, view.dtype_name) {}
};
// None, NULL.
struct Nothing : Part {
  Nothing() : Part(Kind::nothing, "") {}
};

class Text {
 public:
  Text() = default;
  Text(const char* words) : parts_{words} {}
  Text(std::initializer_list<Part> parts) : parts_(parts) {}

  bool empty() const { return parts_.empty(); }
  Text& operator+=(std::initializer_list<Part> parts) {
    parts_.insert(parts_.end(), parts);
    return *this;
  }
  Text& operator+=(const Text& more) {
    parts_.insert(parts_.end(), more.parts_.begin(), more.parts_.end());
    return *this;
  }

  friend Text operator+(Text text, const Text& more) { return text += more; }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

// A face's word for a part that is no plain words.
using Words = std::function<std::string(const Part&)>;

// The operators' own: Python's.
std::string plain_word(const Part& part);

std::string written(const Text& text, const Words& words);

}  // namespace npu_quant
