// The attributes of an op: what each is called, what kind of value it takes, and where that lies.
#pragma once

#include "core/few.h"
#include "ops/contract/choice.h"

namespace npu_quant {

// No op has more; the faces make room for so many.
inline constexpr int kMostAttributes = 10;

// Which of two outputs a call wants; by default the op decides.
struct Wanted {
  int64_t count = -1;  // of the booleans that came, of which these are the first two
  bool each[2] = {};

  bool is_given() const { return count >= 0; }
};

// A list of integers, of which an op takes the first few.
struct Integers {
  int64_t count = -1;  // of those that came
  int64_t each[3] = {};

  bool is_given() const { return count >= 0; }
};

// An attribute an op takes; its kind is that of the op's field.
class Attribute {
 public:
  Attribute(const char* name, int64_t& field, bool is_required)
      : Attribute(name, &field, Kind::integer, is_required) {}
  Attribute(const char* name, double& field, bool is_required)
      : Attribute(name, &field, Kind::number, is_required) {}
  Attribute(const char* name, bool& field, bool is_required)
      : Attribute(name, &field, Kind::boolean, is_required) {}
  Attribute(const char* name, DTypeRequest& field, bool is_required)
      : Attribute(name, &field, Kind::format, is_required) {}
  Attribute(const char* name, AnyChoice& field, bool is_required)
      : Attribute(name, &field, Kind::word, is_required) {}
  Attribute(const char* name, Wanted& field, bool is_required)
      : Attribute(name, &field, Kind::wanted, is_required) {}
  Attribute(const char* name, Integers& field, bool is_required)
      : Attribute(name, &field, Kind::integers, is_required) {}

  const char* name;
  bool is_required;  // else None leaves the field as it is

  // Calls visit(field).
  template <class Visit>
  void with_field(Visit visit) const {
    switch (kind_) {
      case Kind::integer: return visit(*static_cast<int64_t*>(field_));
      case Kind::number: return visit(*static_cast<double*>(field_));
      case Kind::boolean: return visit(*static_cast<bool*>(field_));
      case Kind::format: return visit(*static_cast<DTypeRequest*>(field_));
      case Kind::word: return visit(*static_cast<AnyChoice*>(field_));
      case Kind::wanted: return visit(*static_cast<Wanted*>(field_));
      case Kind::integers: return visit(*static_cast<Integers*>(field_));
    }
  }

 private:
  enum class Kind : char { integer, number, boolean, format, word, wanted, integers };

  Attribute(const char* name, void* field, Kind kind, bool is_required)
      : name(name), is_required(is_required), kind_(kind), field_(field) {}

  Kind kind_;
  void* field_;
};
using Attributes = Few<Attribute, kMostAttributes>;

template <class Field>
Attribute required(const char* name, Field& field) {
  return {name, field, true};
}
template <class Field>
Attribute optional(const char* name, Field& field) {
  return {name, field, false};
}

}  // namespace npu_quant
