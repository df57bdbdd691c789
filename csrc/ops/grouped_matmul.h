// npu_grouped_matmul and aclnnGroupedMatmulV4, V5: the contract.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "ops/contract/op.h"
#include "ops/contract/product.h"
#include "ops/split/grouped_products.h"

namespace npu_quant {

// One entry of the lists that the operator takes: a weight, or a stack of those of all groups, and
// the x it is for. Where an x is that of several entries, an entry has the rows of one group.
struct GroupedMatmul final : Op {
  enum { kY };

  GroupedMatmul() : GroupedMatmul(0, false) {}
  // `shares_x` where x[0] is for all entries.
  GroupedMatmul(int64_t entry, bool shares_x);

  TensorView x;
  TensorView weight;
  TensorView bias;  // optional, as what follows is
  TensorView scale;
  TensorView antiquant_scale;
  TensorView antiquant_offset;
  TensorView per_token_scale;
  TensorView group_list;
  int64_t split_item = 0;
  int64_t group_type = -1;
  int64_t group_list_type = 0;
  int64_t act_type = 0;
  DTypeRequest output_dtype, x_dtype, weight_dtype, scale_dtype, per_token_scale_dtype;

  Inputs inputs() override;
  Attributes attributes() override;
  Status check_elements() const override;
  Status run(const TensorView* out) const override;

  int64_t entries = 1;  // of the lists
  // What it must have in common with the first entry.
  Status check_beside(const GroupedMatmul& first) const;
  const char* x_name() const { return named(kX); }
  // Leaves an entry with the rows of its own group.
  void take_own_rows(const ProductGroup& rows);
  // Where they are in one array for all entries, and how many; what the first gives is that array.
  int64_t first_row = 0;
  int64_t rows() const { return rows_of(x.shape).size(); }
  void stack_outputs(int64_t all_rows) {
    outputs.assign(OutputSpec{"", outputs[kY].dtype, {2, {all_rows, matrix_.n}}});
  }
  void number_output() {  // where each entry has an array of its own
    outputs.assign(OutputSpec{out_name_.c_str(), outputs[kY].dtype, outputs[kY].shape});
  }
  // Computes all entries at once, each into an array; one more is filled with zeros.
  static Status run_all(const std::deque<GroupedMatmul>& entries, const std::vector<TensorView>& y);

 private:
  // What is multiplied, by the dtypes of x and weight.
  enum class Form { plain, a8w8, a8w4, a4w4, antiquant, mx };
  enum Named { kX, kWeight, kBias, kScale, kAntiquantScale, kAntiquantOffset, kTokens, kNames };

  void plan_outputs() override;
  Status check_attributes() override;
  Status check_shapes() override;

  Form form() const;
  Format codes_of(const TensorView& view) const;
  const char* named(Named which) const { return names_[which].c_str(); }
  bool is_stack() const { return weight.rank == 3; }
  bool splits_k() const { return group_type == 2; }
  bool gives_floats() const;
  bool gives_sums() const { return output_dtype.format == Format::int32; }
  int64_t k() const;
  int64_t groups() const { return is_stack() ? weight.shape.dims[0] : entries; }

  Status check_places() const;
  Status check_group_type() const;
  Status check_output_dtype() const;
  Status check_results_of_scales() const;
  Status check_scale_dtype() const;
  Status check_named(const char* attribute, const DTypeRequest& asked, Named which,
                     const TensorView& view) const;
  Status check_list_shape() const;
  Status find_groups(std::vector<ProductGroup>& groups) const;
  Status check_parameter(Named which, const TensorView& view, Shape expected,
                         const char* meaning) const;
  Status check_groups_of_k(Named which, const TensorView& view) const;
  Status check_scales() const;
  Status check_tokens() const;
  GroupedCall call(const std::vector<ProductGroup>* groups) const;

  std::string names_[kNames], out_name_;
  const bool shares_x_;
  CodeMatrix matrix_;
};

// A call: the entries of its lists, of which x may be that of all. A face fills the arrays and the
// attributes of each entry; of an x that is shared, and of the list of groups, the first one's
// count.
struct GroupedMatmulLists final : Op {
  enum { kX, kWeight, kBias, kScale, kAntiquantScale, kAntiquantOffset, kTokens, kLists };
  static constexpr const char* kNames[kLists] = {
      "x", "weight", "bias", "scale", "antiquant_scale", "antiquant_offset", "per_token_scale"};
  static constexpr int64_t kNoList = -1;

  GroupedMatmulLists() : Op("npu_grouped_matmul") {}

  // Makes the entries of lists that have so many arrays.
  Status make_entries(const int64_t (&lengths)[kLists]);
  std::deque<GroupedMatmul> entries;
  bool shares_x() const { return shares_x_; }
  bool is_of_first(int list) const { return shares_x_ && (list == kX || list == kTokens); }

  Inputs inputs() final { return {}; }  // those of the entries
  Status check_elements() const final;
  Status check_outputs(const TensorView* out) final;
  Status run(const TensorView* out) const final;

  // How many arrays are computed; which is known when all is checked.
  int64_t results() const;
  Status check_result_count(int64_t given) const;
  Status check_result(int64_t which, const TensorView* out);  // by itself
  Status check_results_apart(const TensorView* out);          // when each has been checked
  // Of an x for all entries leaves each its group's rows, as the elements of the list say. Results
  // have their shapes then; run() does it where nobody has.
  Status take_own_rows();

 private:
  void plan_outputs() final {}
  Status take_rule() final { return {}; }
  Status check_shapes() final;

  bool has_own_rows() const;
  bool gives_own_rows() const { return !has_own_rows() && entries[0].split_item < 2; }
  bool is_whole() const { return entries.size() == 1 || entries[0].split_item >= 2; }
  void share();
  void place_rows();
  void place_outputs();
  Status check_counts() const;
  Status find_own_rows(std::vector<ProductGroup>& own) const;
  std::vector<TensorView> parts_of(const TensorView* out) const;

  std::deque<GroupedMatmul> whole_;  // the first entry, as it was before it took its own rows
  bool shares_x_ = false, took_own_rows_ = false;
  int64_t rows_ = 0;  // of all entries
};

}  // namespace npu_quant
