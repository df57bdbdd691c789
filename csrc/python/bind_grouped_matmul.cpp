// npu_grouped_matmul: lists of arrays in, a list of arrays out.
#include <deque>

#include "ops/grouped_matmul.h"
#include "python/bind.h"
#include "python/released.h"

namespace npu_quant::python {
namespace {

using Lists = GroupedMatmulLists;

// Arguments in the order of the function; the arrays of an entry come first.
enum { kOfEntry = Lists::kLists, kGroupList = kOfEntry, kAttributes };
constexpr const char kOp[] = "npu_grouped_matmul", kOfArrays[] = "a list of arrays";

// The lists of a call, with their elements.
class GivenLists {
 public:
  explicit GivenLists(Arguments arguments) {
    for (int i = 0; i < kOfEntry; ++i) {
      const py::handle value = arguments[static_cast<size_t>(i)];
      if (value.is_none() && i <= Lists::kWeight) raise_unless_ok(missing(kOp, Lists::kNames[i]));
      if (!value.is_none()) lists_[i] = owned_list(kOp, Lists::kNames[i], value, kOfArrays);
    }
  }

  Status make_entries(Lists& call) const {
    int64_t lengths[kOfEntry];
    for (int i = 0; i < kOfEntry; ++i)
      lengths[i] = lists_[i] ? PyTuple_GET_SIZE(lists_[i].ptr()) : Lists::kNoList;
    return call.make_entries(lengths);
  }
  // What an entry has of each list, and the list of groups.
  void fill(const Lists& call, size_t entry, PyObject* group_list,
            PyObject* (&values)[kAttributes]) const {
    for (int i = 0; i < kOfEntry; ++i)
      values[i] =
          lists_[i] ? PyTuple_GET_ITEM(lists_[i].ptr(), call.is_of_first(i) ? 0 : entry) : Py_None;
    values[kGroupList] = group_list;
  }

 private:
  py::object lists_[kOfEntry];
};

// A call: its entries, and the arrays that they are made of.
class Call {
 public:
  explicit Call(Arguments arguments) : lists_(arguments), arguments_(arguments) {
    raise_unless_ok(lists_.make_entries(call_));
    for (size_t i = 0; i < call_.entries.size(); ++i) {
      GroupedMatmul& entry = call_.entries[i];
      PyObject* values[kAttributes];
      lists_.fill(call_, i, arguments[kGroupList], values);
      arrays_.emplace_back(entry.name, entry.inputs(), values);
    }
  }

  py::object run() {
    check();
    if (asks_for_checks(out())) return py::none();
    raise_unless_ok(call_.check_elements());
    raise_unless_ok(call_.take_own_rows());
    take_outputs();
    int64_t bytes = 0;
    for (const GroupedMatmul& entry : call_.entries) bytes += entry.bytes();
    raise_unless_ok(run_released(bytes, [&] { return call_.run(views_.data()); }));
    return result();
  }

 private:
  py::handle out() const { return arguments_[arguments_.size() - 2]; }

  void check() {
    const PlainArguments plain([&] {
      for (GroupedMatmul& entry : call_.entries) {
        const Attributes attributes = entry.attributes();
        for (int i = 0; i < attributes.size(); ++i)
          read(kOp, attributes[i], arguments_[static_cast<size_t>(kAttributes + i)]);
      }
      call_.numerics = to_numerics(kOp, arguments_.back(), call_.has_profiles());
    });
    for (ArrayArguments& arrays : arrays_) arrays.fill_views();
    for (GroupedMatmul& entry : call_.entries) raise_unless_ok(entry.check_arrays());
    if (plain.failed()) plain.raise_fault();
    raise_unless_ok(call_.check());
  }

  void take_outputs() {
    py::object given;
    if (!out().is_none()) {
      given = owned_list(kOp, "out", out(), kOfArrays);
      raise_unless_ok(call_.check_result_count(PyTuple_GET_SIZE(given.ptr())));
    }
    for (int64_t i = 0; i < call_.results(); ++i) {
      const py::handle one = given ? py::handle(PyTuple_GET_ITEM(given.ptr(), i)) : out();
      outputs_.emplace_back(call_.entries[static_cast<size_t>(i)], one, Code::param_invalid);
      views_.push_back(outputs_.back().views()[0]);
      if (!one.is_none()) raise_unless_ok(call_.check_result(i, views_.data()));
    }
    if (given) raise_unless_ok(call_.check_results_apart(views_.data()));
  }

  py::object result() {
    py::list all;
    for (Outputs& one : outputs_) {
      if (arrays_[0].begin_with_tensor() && out().is_none()) one.turn_into_tensors();
      if (!out().is_none()) one.count_versions();
      all.append(std::move(one).as({}));
    }
    return all;
  }

  const GivenLists lists_;
  const Arguments arguments_;
  Lists call_;
  std::deque<ArrayArguments> arrays_;
  std::deque<Outputs> outputs_;
  std::vector<TensorView> views_;  // of the outputs
};

py::object grouped_matmul(Arguments arguments) { return Call(arguments).run(); }

}  // namespace

void bind_grouped_matmul(py::module_& module) {
  GroupedMatmul op;
  std::vector<const char*> names(std::begin(Lists::kNames), std::end(Lists::kNames));
  names.push_back("group_list");
  for (const Attribute& attribute : op.attributes()) names.push_back(attribute.name);
  names.insert(names.end(), {"out", "numerics"});
  define<&grouped_matmul>(module, kOp, names);
}

}  // namespace npu_quant::python
