// The lists of a call, and their entries together.
#include "ops/grouped_matmul.h"
#include "ops/split/product_list.h"

namespace npu_quant {

Status GroupedMatmul::check_beside(const GroupedMatmul& first) const {
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, named(kX), x, first.named(kX), first.x));
  NPU_QUANT_RETURN_IF_ERROR(
      check_same_dtype(name, named(kWeight), weight, first.named(kWeight), first.weight));
  if (split_item < 2 || matrix_.n == first.matrix_.n) return {};
  return wrong_shape(name, named(kWeight), weight,
                     {"expected ", first.matrix_.n, " columns of the product, as many as with ",
                      Argument(first.named(kWeight)), ": all products share one result"});
}

void GroupedMatmul::take_own_rows(const ProductGroup& rows) {
  x = between(x, 0, rows.begin, rows.end);
  if (per_token_scale.present) per_token_scale = between(per_token_scale, 0, rows.begin, rows.end);
  group_list = kAbsent;
  first_row = rows.begin;
  stack_outputs(rows.end - rows.begin);
}

Status GroupedMatmul::run_all(const std::deque<GroupedMatmul>& entries,
                              const std::vector<TensorView>& y) {
  std::deque<GroupedProducts> products;
  for (const GroupedMatmul& entry : entries) {
    products.emplace_back(entry.call(nullptr));
    NPU_QUANT_RETURN_IF_ERROR(products.back().prepare());
  }
  return run_product_list(entries[0].name, [&](ProductList& list) {
    for (size_t i = 0; i < products.size(); ++i) products[i].add(y[i], list);
    if (y.size() > products.size()) products[0].add_zeros(y.back(), list);
  });
}

Status GroupedMatmulLists::make_entries(const int64_t (&lengths)[kLists]) {
  const auto wrong_length = [this](int list, int64_t length, const Text& allowed) {
    return fault(name, Fault::shape, {Argument(kNames[list])},
                 {"has ", length, length == 1 ? " array" : " arrays"}, allowed);
  };
  const int64_t count = lengths[kWeight], left = lengths[kX];
  if (left == 0) return wrong_length(kX, left, "expected 1 or more");
  if (count == 0 || (left > 1 && left != count))
    return wrong_length(kWeight, count,
                        {"expected ", left == 1 ? "1 or more" : std::to_string(left)});
  for (int i = kWeight + 1; i < kLists; ++i) {
    const int64_t expected = i == kTokens ? left : count;
    if (lengths[i] != kNoList && lengths[i] != expected)
      return wrong_length(i, lengths[i],
                          {"expected ", expected, ", as many as ",
                           Argument(i == kTokens ? "x" : "weight"), " has"});
  }
  shares_x_ = left < count;
  for (int64_t i = 0; i < count; ++i) entries.emplace_back(i, shares_x_).entries = count;
  return {};
}

// What is the first entry's, for all.
void GroupedMatmulLists::share() {
  for (size_t i = 1; i < entries.size() && !took_own_rows_; ++i) {
    entries[i].group_list = entries[0].group_list;
    if (!shares_x_) continue;
    entries[i].x = entries[0].x;
    entries[i].per_token_scale = entries[0].per_token_scale;
  }
}

Status GroupedMatmulLists::check_shapes() {
  share();
  for (GroupedMatmul& entry : entries) entry.numerics = numerics;
  for (GroupedMatmul& entry : entries) NPU_QUANT_RETURN_IF_ERROR(entry.check_arrays());
  for (GroupedMatmul& entry : entries) NPU_QUANT_RETURN_IF_ERROR(entry.check());
  for (GroupedMatmul& entry : entries) NPU_QUANT_RETURN_IF_ERROR(entry.check_beside(entries[0]));
  place_rows();
  place_outputs();
  return {};
}

// Where the rows of each entry begin in an array for all of them.
void GroupedMatmulLists::place_rows() {
  rows_ = shares_x_ ? entries[0].rows() : 0;
  for (GroupedMatmul& entry : entries) {
    if (shares_x_) break;
    entry.first_row = rows_;
    rows_ += entry.rows();
  }
}

// One array for all entries, or one for each.
void GroupedMatmulLists::place_outputs() {
  GroupedMatmul& first = entries[0];
  const bool is_one = first.split_item >= 2;
  if (is_one && (entries.size() > 1 || first.x.rank > 2)) first.stack_outputs(rows_);
  if (is_one || entries.size() == 1) return;
  for (GroupedMatmul& entry : entries) entry.number_output();
}

bool GroupedMatmulLists::has_own_rows() const {
  const GroupedMatmul& first = entries[0];
  const bool is_part = first.group_list.present && first.split_item < 2 && first.weight.rank == 2;
  return took_own_rows_ || (!shares_x_ && !(entries.size() == 1 && is_part));
}

// Of several x the list can but say again which rows each has.
Status GroupedMatmulLists::check_counts() const {
  const GroupedMatmul& first = entries[0];
  if (entries.size() == 1 || shares_x_ || !first.group_list.present) return {};
  std::vector<int64_t> ends{0};
  for (const GroupedMatmul& entry : entries) ends.push_back(ends.back() + entry.rows());
  return check_product_groups(name, first.group_list, first.group_list_type, "x", ends);
}

Status GroupedMatmulLists::find_own_rows(std::vector<ProductGroup>& own) const {
  std::vector<ProductGroup> groups;
  NPU_QUANT_RETURN_IF_ERROR(take_product_groups(
      name, entries[0].group_list, entries[0].group_list_type, entries[0].x_name(), rows_,
      static_cast<int64_t>(entries.size()), groups));
  own.resize(entries.size());
  for (const ProductGroup& group : groups) own[static_cast<size_t>(group.weight)] = group;
  return {};
}

Status GroupedMatmulLists::take_own_rows() {
  if (has_own_rows()) return {};
  share();
  std::vector<ProductGroup> own;
  NPU_QUANT_RETURN_IF_ERROR(find_own_rows(own));
  whole_.push_back(entries[0]);
  for (size_t i = 0; i < own.size(); ++i) entries[i].take_own_rows(own[i]);
  took_own_rows_ = true;
  place_outputs();
  return {};
}

Status GroupedMatmulLists::check_elements() const {
  std::vector<ProductGroup> own;
  if (entries.size() == 1) return entries[0].check_elements();
  return shares_x_ ? find_own_rows(own) : check_counts();
}

int64_t GroupedMatmulLists::results() const {
  return is_whole() ? 1 : static_cast<int64_t>(entries.size());
}

Status GroupedMatmulLists::check_result_count(int64_t given) const {
  if (given == results()) return {};
  Text expected{"expected ", results()};
  if (entries.size() == 1 && entries[0].split_item < 2)
    expected += {", as many as ", Argument(kNames[kWeight]), " has"};
  return fault(name, Fault::shape, {Argument("out")},
               {"has ", given, given == 1 ? " array" : " arrays"}, expected);
}

Status GroupedMatmulLists::check_result(int64_t which, const TensorView* out) {
  const auto at = static_cast<size_t>(which);
  const OutputSpecs& specs = entries[at].outputs;
  if (gives_own_rows() && !took_own_rows_)  // how many is not known yet
    return check_output_types(name, specs, out + which);
  return npu_quant::check_outputs(name, {}, specs, out + which);
}

// Only where some are not apart are they looked at pair by pair, for the first that is not.
Status GroupedMatmulLists::check_results_apart(const TensorView* out) {
  if (gives_own_rows() && !took_own_rows_) return {};
  std::vector<Occupied> all;
  for (std::deque<GroupedMatmul>* inputs : {&whole_, &entries})
    for (GroupedMatmul& entry : *inputs)
      for (const Input& input : entry.inputs()) all.push_back(occupied_by(*input.view, false));
  for (int64_t i = 0; i < results(); ++i) all.push_back(occupied_by(out[i], true));
  if (are_outputs_apart(all)) return {};
  for (int64_t which = 0; which < results(); ++which) {
    const OutputSpecs& specs = entries[static_cast<size_t>(which)].outputs;
    for (std::deque<GroupedMatmul>* inputs : {&whole_, &entries})
      for (GroupedMatmul& entry : *inputs)
        NPU_QUANT_RETURN_IF_ERROR(
            npu_quant::check_outputs(name, entry.inputs(), specs, out + which));
    for (int64_t i = 0; i < which; ++i)
      NPU_QUANT_RETURN_IF_ERROR(check_apart(name, specs[0], out[which],
                                            entries[static_cast<size_t>(i)].outputs[0], out[i]));
  }
  return {};
}

Status GroupedMatmulLists::check_outputs(const TensorView* out) {
  share();
  for (int64_t i = 0; i < results(); ++i) NPU_QUANT_RETURN_IF_ERROR(check_result(i, out));
  return check_results_apart(out);
}

// The array of each entry, and the rows that are behind all of them.
std::vector<TensorView> GroupedMatmulLists::parts_of(const TensorView* out) const {
  if (!is_whole()) return {out, out + entries.size()};
  std::vector<TensorView> parts;
  int64_t last = 0;
  for (const GroupedMatmul& entry : entries) {
    const int64_t begin = entry.first_row, end = begin + entry.rows();
    parts.push_back(between(*out, 0, begin, end));
    last = std::max(last, end);
  }
  if (last < rows_) parts.push_back(between(*out, 0, last, rows_));
  return parts;
}

Status GroupedMatmulLists::run(const TensorView* out) const {
  if (!has_own_rows()) {
    GroupedMatmulLists own = *this;
    NPU_QUANT_RETURN_IF_ERROR(own.take_own_rows());
    if (gives_own_rows()) NPU_QUANT_RETURN_IF_ERROR(own.check_outputs(out));
    return own.run(out);
  }
  NPU_QUANT_RETURN_IF_ERROR(check_counts());
  if (entries.size() == 1) return entries[0].run(out);
  return GroupedMatmul::run_all(entries, parts_of(out));
}

}  // namespace npu_quant
