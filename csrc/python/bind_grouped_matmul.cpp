// npu_grouped_matmul: lists of arrays in, a list of arrays out.
#include <deque>

#include "ops/grouped_matmul.h"
#include "python/bind.h"
#include "python/released.h"

namespace npu_quant::python {
namespace {

// Arguments in the order of the function; the arrays of an entry come first.
enum { kX, kWeight, kOfEntry = 7, kGroupList = kOfEntry, kAttributes };
constexpr const char* kNames[] = {
    "x", "weight", "bias", "scale", "antiquant_scale", "antiquant_offset", "per_token_scale"};
constexpr int kTokens = kOfEntry - 1;
constexpr const char kOp[] = "npu_grouped_matmul";

Status wrong_length(const char* name, size_t length, const Text& allowed) {
  return fault(kOp, Fault::shape, {Argument(name)},
               {"has ", length, length == 1 ? " array" : " arrays"}, allowed);
}

// The lists of a call, and what its entries are.
class Lists {
 public:
  explicit Lists(Arguments arguments) {
    for (int i = 0; i < kOfEntry; ++i) take(i, arguments[static_cast<size_t>(i)]);
    const size_t count = lists_[kWeight].size(), left = lists_[kX].size();
    if (left == 0) raise_unless_ok(wrong_length("x", left, "expected 1 or more"));
    if (count == 0 || (left > 1 && left != count))
      raise_unless_ok(wrong_length("weight", count,
                                   {"expected ", left == 1 ? "1 or more" : std::to_string(left)}));
    for (int i = kWeight + 1; i < kOfEntry; ++i) {
      const size_t expected = i == kTokens ? left : count;
      if (lists_[i] && lists_[i].size() != expected)
        raise_unless_ok(wrong_length(kNames[i], lists_[i].size(),
                                     {"expected ", expected, ", as many as ",
                                      Argument(i == kTokens ? "x" : "weight"), " has"}));
    }
  }

  size_t entries() const { return lists_[kWeight].size(); }
  bool shares_x() const { return lists_[kX].size() < entries(); }
  // What an entry has of each list, and the list of groups.
  void fill(size_t entry, PyObject* group_list, PyObject* (&values)[kAttributes]) const {
    for (int i = 0; i < kOfEntry; ++i) {
      const bool is_first = shares_x() && (i == kX || i == kTokens);
      values[i] =
          lists_[i] ? PySequence_Fast_GET_ITEM(lists_[i].ptr(), is_first ? 0 : entry) : Py_None;
    }
    values[kGroupList] = group_list;
  }

 private:
  void take(int i, py::handle value) {
    if (value.is_none() && i > kWeight) return;
    if (value.is_none()) raise_unless_ok(missing(kOp, kNames[i]));
    if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr()))
      throw py::type_error(std::string(kOp) + ": " + kNames[i] + " is " +
                           with_article(type_name(value)) + ", expected a list of arrays.");
    lists_[i] = py::reinterpret_borrow<py::sequence>(value);
  }

  struct List : py::object {
    List() = default;
    List& operator=(py::sequence list) { return py::object::operator=(std::move(list)), *this; }
    size_t size() const { return static_cast<size_t>(PySequence_Fast_GET_SIZE(ptr())); }
  };
  List lists_[kOfEntry];
};

// A call: its entries, and the arrays that they are made of.
class Call {
 public:
  explicit Call(Arguments arguments) : lists_(arguments), arguments_(arguments) {
    for (size_t i = 0; i < lists_.entries(); ++i) {
      GroupedMatmul& entry = entries_.emplace_back(static_cast<int64_t>(i), lists_.shares_x());
      PyObject* values[kAttributes];
      lists_.fill(i, arguments[kGroupList], values);
      arrays_.emplace_back(entry.name, entry.inputs(), values);
      entry.entries = static_cast<int64_t>(lists_.entries());
    }
  }

  py::object run() {
    check();
    is_stacked_ = entries_.size() == 1 || entries_[0].split_item >= 2;
    if (!out().is_none())
      for (const GroupedMatmul& entry : entries_) given_.push_back(entry);
    place_entries();
    take_outputs();
    std::vector<TensorView> y = views();
    int64_t bytes = 0;
    for (const GroupedMatmul& entry : entries_) bytes += entry.bytes();
    raise_unless_ok(run_released(bytes, [&] {
      return entries_.size() == 1 ? entries_[0].run(y.data()) : GroupedMatmul::run_all(entries_, y);
    }));
    return result();
  }

 private:
  py::handle out() const { return arguments_[arguments_.size() - 2]; }

  void check() {
    const PlainArguments plain([&] {
      for (GroupedMatmul& entry : entries_) {
        const Attributes attributes = entry.attributes();
        for (int i = 0; i < attributes.size(); ++i)
          read(kOp, attributes[i], arguments_[static_cast<size_t>(kAttributes + i)]);
        entry.numerics = to_numerics(kOp, arguments_.back(), entry.has_profiles());
      }
    });
    for (ArrayArguments& arrays : arrays_) arrays.fill_views();
    for (GroupedMatmul& entry : entries_) raise_unless_ok(entry.check_arrays());
    if (plain.failed()) plain.raise_fault();
    for (GroupedMatmul& entry : entries_) raise_unless_ok(entry.check());
    for (GroupedMatmul& entry : entries_) raise_unless_ok(entry.check_beside(entries_[0]));
    for (GroupedMatmul& entry : entries_) raise_unless_ok(entry.check_elements());
    raise_unless_ok(GroupedMatmul::check_own_rows(entries_));
  }

  // Where the rows of each entry begin in an array for all of them.
  void place_entries() {
    if (entries_.size() == 1) {
      const GroupedMatmul& one = entries_[0];
      const bool is_whole = one.split_item >= 2;
      if (one.group_list.present && !is_whole && one.weight.rank == 2) take_own_rows();
      if (is_whole && one.x.rank > 2) entries_[0].stack_outputs(one.rows());
      return;
    }
    rows_ = lists_.shares_x() ? entries_[0].x.shape.dims[0] : 0;
    if (lists_.shares_x()) take_own_rows();
    for (GroupedMatmul& entry : entries_) {
      if (!lists_.shares_x()) {
        entry.first_row = rows_;
        rows_ += entry.rows();
      }
      counts_.push_back(entry.rows());
    }
    if (is_stacked_) return entries_[0].stack_outputs(rows_);
    for (GroupedMatmul& entry : entries_) entry.number_output();
  }

  // Of an x that is for all entries, each has the rows of its group.
  void take_own_rows() {
    std::vector<ProductGroup> groups, own(entries_.size());
    raise_unless_ok(entries_[0].find_groups(groups));
    for (const ProductGroup& group : groups) own[static_cast<size_t>(group.weight)] = group;
    for (size_t i = 0; i < own.size(); ++i) entries_[i].take_own_rows(own[i]);
  }

  void take_outputs() {
    const size_t count = is_stacked_ ? 1 : entries_.size();
    if (!out().is_none() && !PyList_Check(out().ptr()) && !PyTuple_Check(out().ptr()))
      throw py::type_error(std::string(kOp) + ": out is " + with_article(type_name(out())) +
                           ", expected a list of arrays.");
    const auto given =
        out().is_none() ? count : static_cast<size_t>(PySequence_Fast_GET_SIZE(out().ptr()));
    if (given != count) raise_unless_ok(wrong_length("out", given, {"expected ", count}));
    for (size_t i = 0; i < count; ++i) {
      const py::handle one =
          out().is_none() ? out() : py::handle(PySequence_Fast_GET_ITEM(out().ptr(), i));
      outputs_.emplace_back(entries_[i], one, Code::param_invalid);
      if (!one.is_none())
        for (GroupedMatmul& entry : given_)
          raise_unless_ok(
              check_outputs(kOp, entry.inputs(), entries_[i].outputs, outputs_[i].views()));
      for (size_t j = 0; j < i && !one.is_none(); ++j)
        raise_unless_ok(check_apart(kOp, entries_[i].outputs[0], outputs_[i].views()[0],
                                    entries_[j].outputs[0], outputs_[j].views()[0]));
    }
  }

  // The array of each entry, and the rows that are behind all of them.
  std::vector<TensorView> views() const {
    std::vector<TensorView> y;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_.size() == 1 || !is_stacked_) {
        y.push_back(outputs_[i].views()[0]);
        continue;
      }
      const int64_t begin = entries_[i].first_row, end = begin + counts_[i];
      y.push_back(between(outputs_[0].views()[0], 0, begin, end));
      last_ = std::max(last_, end);
    }
    if (entries_.size() > 1 && is_stacked_ && last_ < rows_)
      y.push_back(between(outputs_[0].views()[0], 0, last_, rows_));
    return y;
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

  const Lists lists_;
  const Arguments arguments_;
  std::deque<GroupedMatmul> entries_;
  std::deque<GroupedMatmul> given_;  // the same before they are left with rows of their own
  std::deque<ArrayArguments> arrays_;
  std::deque<Outputs> outputs_;
  bool is_stacked_ = true;  // one array for all entries
  int64_t rows_ = 0;
  std::vector<int64_t> counts_;  // of each entry
  mutable int64_t last_ = 0;
};

py::object grouped_matmul(Arguments arguments) { return Call(arguments).run(); }

}  // namespace

void bind_grouped_matmul(py::module_& module) {
  GroupedMatmul op;
  std::vector<const char*> names(std::begin(kNames), std::end(kNames));
  names.push_back("group_list");
  for (const Attribute& attribute : op.attributes()) names.push_back(attribute.name);
  names.insert(names.end(), {"out", "numerics"});
  define<&grouped_matmul>(module, kOp, names);
}

}  // namespace npu_quant::python
