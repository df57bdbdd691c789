// The arrays an op takes: what each is called, and which dtypes and how many axes it may have.
#pragma once

#include <span>

#include "core/few.h"
#include "ops/contract/contract.h"

namespace npu_quant {

// No op has more; the faces make room for so many.
inline constexpr int kMostInputs = 8;

// What an array may be, written as a sentence: one_of(kFloat32).or_like(0).ranks(1, 1). An op's
// are static, one for each kind of array.
struct Takes {
  static constexpr int kNone = -1, kAnyRank = 1 << 30;

  std::span<const DType> dtypes = {};  // any of these
  int other = kNone;  // or that of this input, which is the only one if there are none above
  DType of_numbers = DType::other;  // what other numbers may be converted to and keep their meaning
  DType of_list = DType::float16;   // what a list of them becomes
  int least_rank = 0, most_rank = kMaxRank;
  const char* rank_remedy = nullptr;  // else to give or merge axes

  constexpr Takes ranks(int least, int most, const char* remedy = nullptr) const {
    Takes takes = *this;
    takes.least_rank = least, takes.most_rank = most, takes.rank_remedy = remedy;
    return takes;
  }
  // It is judged with the shapes.
  constexpr Takes any_rank() const { return ranks(0, kAnyRank); }
  constexpr Takes or_like(int input) const {
    Takes takes = *this;
    takes.other = input;
    return takes;
  }
  constexpr Takes made_of(DType numbers) const {
    Takes takes = *this;
    takes.of_numbers = takes.of_list = numbers;
    return takes;
  }
  constexpr Takes lists_to(DType dtype) const {
    Takes takes = *this;
    takes.of_list = dtype;
    return takes;
  }
};

inline constexpr DType kFloats[] = {DType::float16, DType::bfloat16, DType::float32};
inline constexpr DType kInt32[] = {DType::int32}, kFloat32[] = {DType::float32};
inline constexpr Takes kAnything = Takes{}.any_rank();

constexpr Takes one_of(std::span<const DType> dtypes) {
  return {.dtypes = dtypes, .of_list = dtypes[0]};
}
constexpr Takes like(int input) { return Takes{}.or_like(input); }
constexpr Takes floats() {
  return one_of(kFloats).made_of(DType::float32).lists_to(DType::float16);
}

// An array an op takes.
struct Input {
  const char* name;
  TensorView* view;  // the op's
  const Takes* takes;
  bool is_required;
};
using Inputs = Few<Input, kMostInputs>;

inline Input required(const char* name, TensorView& view, const Takes& takes = kAnything) {
  return {name, &view, &takes, true};
}
inline Input optional(const char* name, TensorView& view, const Takes& takes = kAnything) {
  return {name, &view, &takes, false};
}
Input required(const char* name, TensorView& view, const Takes&& takes) = delete;
Input optional(const char* name, TensorView& view, const Takes&& takes) = delete;

// Of arrays that are given, in their order; one that is missing is refused before.
Status check_dtypes(const char* op, const Inputs& inputs);
Status check_ranks(const char* op, const Inputs& inputs);

// The same of one array, for what is no op.
Status check_dtype_in(const char* op, const char* argument, const TensorView& view,
                      std::span<const DType> allowed, DType of_numbers = DType::other);
inline Status check_dtype_in(const char* op, const char* argument, const TensorView& view,
                             std::initializer_list<DType> allowed) {
  return check_dtype_in(op, argument, view, std::span(allowed.begin(), allowed.size()));
}
Status check_same_dtype(const char* op, const char* argument, const TensorView& view,
                        const char* other_name, const TensorView& other);
Status check_rank(const char* op, const char* argument, const TensorView& view, int low, int high,
                  const char* remedy = nullptr);

}  // namespace npu_quant
