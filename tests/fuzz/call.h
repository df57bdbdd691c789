// A call of an operator, drawn from a fuzzer's bytes, and what has to hold of it: its status is
// known; where it fails nothing is written; where it succeeds every target gives the same bytes,
// between which nothing is written, and the same numbers as from contiguous memory.
#pragma once

#include <bit>
#include <deque>
#include <initializer_list>
#include <iterator>

#include "acl/acl.h"
#include "core/target.h"
#include "memory.h"
#include "opdev/op_errno.h"

namespace npu_quant::fuzzing {

// A tensor of the call, or NULL.
struct Place {
  int index;
};
// A list of them, or NULL.
struct Several {
  std::vector<Place> places;
  bool is_null = false;
};
struct Word {
  char* text;
  operator char*() const { return text; }
};
// Converts to what a parameter is.
template <class T>
struct Number {
  T value;
  template <class To>
  operator To() const {
    return static_cast<To>(value);
  }
};

class Call {
 public:
  explicit Call(Bytes& bytes) : bytes_(bytes) {
    constexpr int64_t kLengths[] = {1,  2,  3,  4,  5,   8,   16,  31,  32,  33,
                                    63, 64, 65, 66, 127, 128, 130, 256, 300, 1030};
    const int rank = is_odd() ? bytes.from(0, 9) : bytes.from(1, 4);
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t length = kLengths[below(std::size(kLengths))];
      x.push_back(product(x) * length <= kMostElements / 8 ? length : 1);
    }
    if (!x.empty() && is_odd()) x[below(x.size())] = 0;
    axis = rank > 0 ? static_cast<int64_t>(below(x.size())) : 0;
    numbers = pick({ACL_FLOAT16, ACL_BF16, ACL_FLOAT});
    codes = pick({ACL_INT8, ACL_INT4, ACL_INT32, ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN});
    mx_codes = pick({ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN, ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2});
  }

  // What arguments have in common, so that most calls are taken.
  Dims x;
  int64_t axis;
  aclDataType numbers, codes, mx_codes;

  bool flag() { return bytes_.flag(); }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }
  Number<int64_t> integer(std::initializer_list<int64_t> usual) {
    return {is_odd() ? static_cast<int64_t>(bytes_.bits(64)) : pick(usual)};
  }
  Number<double> number(std::initializer_list<double> usual) {
    return {is_odd() ? std::bit_cast<double>(bytes_.bits(64)) : pick(usual)};
  }
  Word word(std::initializer_list<const char*> usual) {
    if (is_odd())
      words_.push_back(bytes_.text(80));
    else
      words_.emplace_back(pick(usual));
    return {words_.back().data()};
  }

  Place in(aclDataType dtype, const Dims& shape) { return draw(dtype, shape, false); }
  Place out(aclDataType dtype, const Dims& shape) { return draw(dtype, shape, true); }
  Place optional(Place place) { return flag() ? place : Place{-1}; }
  Several list(std::vector<Place> places) { return {std::move(places), is_odd()}; }

  bool is_taken() const { return is_taken_; }  // and was computed

  // Makes the call in every way, and ends the process where it finds fault.
  template <class Phase1, class Phase2, class... Arguments>
  void run(const char* name, Phase1 phase1, Phase2 phase2, const Arguments&... arguments) {
    const auto make = [&](const std::vector<Tensor>& tensors, Target target, int& status) {
      set_active_target(target);
      while (aclGetRecentErrMsg() != nullptr) continue;
      std::deque<Placed> placed;
      for (const Tensor& tensor : tensors) placed.emplace_back(tensor);
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      Lists lists;
      status = phase1(resolved(placed, arguments, lists)..., &size, &executor);
      if (status == 0 && are_to_be_computed())
        status = phase2(nullptr, size, executor, nullptr);
      else if (status == 0)
        aclDestroyAclOpExecutor(executor);
      check_status(name, status);
      return results(placed);
    };
    check(name, make);
  }

 private:
  using Memories = std::vector<std::vector<uint8_t>>;

  // Seldom, so that several arguments are as usual at once.
  bool is_odd() { return bytes_.bits() >= 253; }
  size_t below(size_t end) { return bytes_.below(end); }

  Place draw(aclDataType dtype, Dims shape, bool is_output) {
    constexpr int64_t kHuge[] = {0, 7, int64_t{1} << 31, int64_t{1} << 53, int64_t{1} << 62, -1};
    if (is_odd()) return {-1};
    if (is_odd()) dtype = static_cast<aclDataType>(bytes_.from(-1, 42));
    if (!shape.empty() && is_odd())
      shape[below(shape.size())] = kHuge[below(std::size(kHuge))];
    else if (is_odd())
      shape.push_back(2);
    Tensor tensor{dtype, ACL_FORMAT_ND, std::move(shape), {}, 0, is_output, 0, {}};
    if (is_odd()) tensor.format = static_cast<aclFormat>(bytes_.from(-1, 50));
    lay_out(bytes_, tensor);
    const bool computes = tensor.is_to_be_computed();
    if (!computes && is_output) tensor.strides = contiguous_strides(tensor.shape);
    const int64_t extent = computes ? tensor.extent() : 0;
    tensor.memory.assign(static_cast<size_t>(tensor.bytes_of(extent)), kUntouched);
    if (!is_output) fill(bytes_, tensor);
    tensors_.push_back(std::move(tensor));
    return {static_cast<int>(tensors_.size()) - 1};
  }

  // Which go before the tensors, that they take with them.
  struct Lists {
    ~Lists() {
      for (const aclTensorList* list : all) aclDestroyTensorList(list);
    }
    std::vector<aclTensorList*> all;
  };

  static aclTensor* resolved(const std::deque<Placed>& placed, Place place, Lists&) {
    return place.index < 0 ? nullptr : placed[static_cast<size_t>(place.index)].handle();
  }
  static aclTensorList* resolved(const std::deque<Placed>& placed, const Several& several,
                                 Lists& lists) {
    if (several.is_null) return nullptr;
    std::vector<aclTensor*> handles;
    for (const Place place : several.places) handles.push_back(resolved(placed, place, lists));
    return lists.all.emplace_back(aclCreateTensorList(handles.data(), handles.size()));
  }
  template <class T>
  static const T& resolved(const std::deque<Placed>&, const T& attribute, Lists&) {
    return attribute;
  }

  bool are_to_be_computed() const {
    return std::all_of(tensors_.begin(), tensors_.end(),
                       [](const Tensor& tensor) { return tensor.is_to_be_computed(); });
  }
  static Memories results(const std::deque<Placed>& placed) {
    Memories all;
    for (const Placed& one : placed)
      if (one.tensor().is_output) all.push_back(one.bytes());
    return all;
  }

  static void check_status(const char* name, int status) {
    const std::initializer_list<int> known = {0, ACLNN_ERR_PARAM_NULLPTR, ACLNN_ERR_PARAM_INVALID,
                                              ACLNN_ERR_INNER, ACLNN_ERR_INNER_TILING_ERROR};
    if (std::find(known.begin(), known.end(), status) == known.end())
      fail(std::string(name) + " gives status " + std::to_string(status));
    const char* const message = aclGetRecentErrMsg();
    if (status == 0) return message == nullptr ? void() : fail(message);
    if (message == nullptr || std::strstr(message, name) == nullptr || std::strlen(message) > 500)
      fail(std::string(name) + ": " + (message != nullptr ? message : "no message"));
  }

  template <class Make>
  void check(const std::string& name, const Make& make) {
    int status = 0, other_status = 0;
    const Memories drawn = make(tensors_, Target::baseline, status);
    check_gaps(name, drawn, status != 0);
    if (!are_to_be_computed()) return;  // memory that is not there may seem to be shared
    const auto compare = [&](const std::vector<Tensor>& tensors, Target target,
                             const std::string& what) {
      const Memories found = make(tensors, target, other_status);
      if (other_status != status)
        report(name + ": status " + std::to_string(other_status) + ", not " +
               std::to_string(status) + ", " + what);
      for (size_t output = 0, i = 0; i < tensors.size() && status == 0; ++i)
        if (tensors[i].is_output) {
          if (tensors[i].results(found[output]) != tensors_[i].results(drawn[output]))
            report(name + ": output " + std::to_string(output) + " differs, " + what);
          ++output;
        }
      return found;
    };
    for (const Target target : kAllTargets)
      if (is_runnable(target))
        check_gaps(name, compare(tensors_, target, name_of(target)), status != 0);
    is_taken_ = status == 0;
    if (!is_taken_) return;
    std::vector<Tensor> contiguous;
    for (const Tensor& tensor : tensors_) contiguous.push_back(tensor.contiguous());
    compare(contiguous, Target::baseline, "contiguous");
  }

  // What no element lies on, or nothing at all, is as it was.
  void check_gaps(const std::string& name, const Memories& drawn, bool failed) const {
    size_t output = 0;
    for (const Tensor& tensor : tensors_) {
      if (!tensor.is_output) continue;
      std::vector<uint8_t> bytes = drawn[output++];
      if (!failed && is_packed(tensor.dtype)) continue;
      if (!failed && tensor.is_to_be_computed())
        for (const int64_t at : tensor.positions())
          std::fill_n(bytes.begin() + at * static_cast<int64_t>(tensor.item()), tensor.item(),
                      kUntouched);
      if (std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b != kUntouched; }))
        report(name + ": wrote what is not its own");
    }
  }

  [[noreturn]] void report(std::string what) const {
    const auto list = [&](const char* word, const Dims& dims) {
      what += word;
      for (const int64_t dim : dims) what += std::to_string(dim) + " ";
    };
    for (const Tensor& tensor : tensors_) {
      what += "\n  dtype " + std::to_string(tensor.dtype) + (tensor.is_output ? " out" : "");
      list(" shape ", tensor.shape);
      list("strides ", tensor.strides);
      what += "offset " + std::to_string(tensor.offset);
    }
    fail(what);
  }

  Bytes& bytes_;
  std::vector<Tensor> tensors_;
  std::deque<std::string> words_;
  bool is_taken_ = false;
};

}  // namespace npu_quant::fuzzing
