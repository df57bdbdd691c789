#include "ops/grouped_dynamic_mx_quant.h"

#include <algorithm>
#include <memory>
#include <new>

#include "core/dispatch.h"
#include "ops/groups.h"

namespace npu_quant {
namespace {

constexpr int64_t kPair = 2 * kMxCell;  // rows that the bytes of a pair-row are of
constexpr int64_t kColumns = 2048;      // that threads take side by side

// A call: which rows of x each pair-row of mxscale is of. Those of a group begin at the number of
// whole pairs in all the rows before it, and its own number more; some are of no rows.
class PairRows {
 public:
  PairRows(const TensorView& x, const TensorView& y, const TensorView& mxscale, int64_t packed,
           const int32_t* ends, int64_t groups)
      : m_(x.shape.dims[0]), n_(x.shape.dims[1]), packed_(packed), ends_(ends), groups_(groups) {
    x_ = {x.data, x.strides[0], x.strides[1]};
    if (y.present) y_ = {y.data, y.strides[0], y.strides[1]};
    const int64_t* const strides = mxscale.strides;
    if (mxscale.present) scales_ = {mxscale.data, strides[1], strides[0], strides[2]};
  }

  // What threads share: some columns of a pair-row.
  int64_t count() const { return (m_ / kPair + groups_) * across_; }

  // The part that begins with one of these, and goes on with those of its group up to an end.
  MxPart take(int64_t& item, int64_t end) const {
    const int64_t pair = item / across_, first = item % across_ * kColumns;
    const int64_t group = group_of(pair);
    const int64_t row =
        std::min<int64_t>(begin_of(group) + (pair - first_pair_of(group)) * kPair, ends_[group]);
    const int64_t rows = ends_[group] - row;
    const int64_t taken =
        across_ > 1 || rows == 0 ? 1 : std::min(parts_of(rows, kPair), end - item);
    item += taken;
    return {.is_in_rows = false,
            .rows = std::min(rows, taken * kPair),
            .n = std::min(n_ - first, kColumns),
            .numbers = x_.from(row, first),
            .codes = y_.from(row, first / packed_),
            .scales = scales_.from(first, pair)};
  }

 private:
  int64_t group_of(int64_t pair) const {
    const auto is_before = [this](int64_t p, const int32_t& end) {
      return p < first_pair_of(&end - ends_ + 1);
    };
    return std::upper_bound(ends_, ends_ + groups_ - 1, pair, is_before) - ends_;
  }
  int64_t begin_of(int64_t group) const { return group == 0 ? 0 : ends_[group - 1]; }
  int64_t first_pair_of(int64_t group) const { return begin_of(group) / kPair + group; }

  int64_t m_, n_, packed_, across_ = parts_of(n_, kColumns);
  const int32_t* ends_;
  int64_t groups_;
  Strided x_, y_;
  MxScales scales_;
};

void clear(const MxScales& to, int64_t n) {
  if (to.data == nullptr) return;
  for (int64_t i = 0; i < n; ++i)
    for (int lane = 0; lane < 2; ++lane) to.data[i * to.row_stride + lane * to.lane_stride] = 0;
}

}  // namespace

Inputs GroupedDynamicMxQuant::inputs() {
  return Inputs::of(required("x", input), required("group_index", group_index));
}

Status GroupedDynamicMxQuant::check_dtypes() const {
  NPU_QUANT_RETURN_IF_ERROR(MxQuant::check_dtypes());
  return check_dtype_in(name, "group_index", group_index, {DType::int32});
}

Status GroupedDynamicMxQuant::check_ranks() const {
  NPU_QUANT_RETURN_IF_ERROR(check_rank(name, "x", input, 2, 2,
                                       input.rank < 2
                                           ? "Give it two axes with x.reshape(-1, n)."
                                           : "Merge leading axes with x.reshape(-1, n)."));
  return check_rank(name, "group_index", group_index, 1, 1, "It holds the end of each group.");
}

void GroupedDynamicMxQuant::plan_outputs() {
  const int64_t *dims = input.shape.dims, groups = group_index.shape.dims[0];
  outputs.assign(y_of("y"), OutputSpec{"mxscale", DType::uint8,
                                       Shape{3, {dims[0] / kPair + groups, dims[1], 2}}});
}

Status GroupedDynamicMxQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_codes());
  if (block_size != kMxCell)
    return wrong("blocksize", {"is ", block_size}, {"available: ", kMxCell});
  return check_scale_alg();
}

Status GroupedDynamicMxQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(MxQuant::check_shapes());
  if (group_index.shape.dims[0] > 0) return {};
  return wrong_shape(name, "group_index", group_index, "expected 1 or more entries");
}

Status GroupedDynamicMxQuant::check_elements() const {
  return check_group_ends(name, "group_index", group_index, "x", input.shape.dims[0]);
}

Status GroupedDynamicMxQuant::run(const TensorView* out) const {
  const TensorView &y = out[kY], &mxscale = out[kMxScale];
  const int64_t n = input.shape.dims[1], groups = group_index.shape.dims[0];
  if (n == 0 || (!y.present && !mxscale.present)) return {};
  // A copy, which nobody changes.
  const std::unique_ptr<int32_t[]> ends(new (std::nothrow) int32_t[static_cast<size_t>(groups)]);
  if (ends == nullptr) return out_of_memory(name);
  for (int64_t g = 0; g < groups; ++g) ends[g] = static_cast<int32_t>(group_end_at(group_index, g));
  NPU_QUANT_RETURN_IF_ERROR(check_group_ends(name, "group_index",
                                             contiguous_view(ends.get(), DType::int32, groups), "x",
                                             input.shape.dims[0]));
  const PairRows pairs(input, y, mxscale, codes_per_element(codes(), outputs[kY].dtype), ends.get(),
                       groups);
  parallel_for(pairs.count(), work_bytes(bytes(), {&input, &y}), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const MxPart part = pairs.take(begin, end);
      part.rows > 0 ? run_on_active_target<MxColumnsKernel>(args_of(part))
                    : clear(part.scales, part.n);
    }
  });
  return {};
}

}  // namespace npu_quant
