#include "ops/grouped_dynamic_mx_quant.h"

#include <algorithm>

#include "core/dispatch.h"
#include "ops/groups.h"

namespace npu_quant {
namespace {

constexpr int64_t kPair = 2 * kMxCell;  // rows that the bytes of a pair-row are of
constexpr int64_t kColumns = 2048;      // that threads take side by side

// A call: its lines of blocks are pair-rows of mxscale.
class PairRows {
 public:
  PairRows(const TensorView& x, const TensorView& y, const TensorView& mxscale, int64_t packed,
           const GroupLines& pairs)
      : n_(x.shape.dims[1]), packed_(packed), pairs_(pairs) {
    x_ = {x.data, x.strides[0], x.strides[1]};
    if (y.present) y_ = {y.data, y.strides[0], y.strides[1]};
    const int64_t* const strides = mxscale.strides;
    if (mxscale.present) scales_ = {mxscale.data, strides[1], strides[0], strides[2]};
  }

  // What threads share: some columns of a pair-row.
  int64_t count() const { return pairs_.count() * across_; }

  // The part that begins with one of these, and goes on with those of its group up to an end.
  MxPart take(int64_t& item, int64_t end) const {
    const int64_t pair = item / across_, first = item % across_ * kColumns;
    const auto [row, rows] = pairs_.at(pair);
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
  int64_t n_, packed_, across_ = parts_of(n_, kColumns);
  const GroupLines& pairs_;
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
  return check_dtype_in(name, "group_index", group_index, {DType::int32}, DType::int32);
}

Status GroupedDynamicMxQuant::check_ranks() const {
  NPU_QUANT_RETURN_IF_ERROR(check_rank(name, "x", input, 2, 2,
                                       input.rank < 2
                                           ? "Give it two axes with x.reshape(-1, n)."
                                           : "Merge leading axes with x.reshape(-1, n)."));
  return check_group_rank(name, "group_index", group_index);
}

void GroupedDynamicMxQuant::plan_outputs() {
  const int64_t *dims = input.shape.dims, groups = group_index.shape.dims[0];
  outputs.assign(y_of("y"), OutputSpec{"mxscale", mxscale_array,
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
  return check_group_count(name, "group_index", group_index);
}

Status GroupedDynamicMxQuant::check_elements() const {
  return check_group_ends(name, "group_index", group_index, "x", input.shape.dims[0]);
}

Status GroupedDynamicMxQuant::run(const TensorView* out) const {
  const TensorView &y = out[kY], &mxscale = out[kMxScale];
  if (input.shape.dims[1] == 0 || (!y.present && !mxscale.present)) return {};
  GroupLines lines;
  NPU_QUANT_RETURN_IF_ERROR(
      lines.assign(name, "group_index", group_index, "x", input.shape.dims[0], kPair));
  const PairRows pairs(input, y, mxscale, codes_per_element(codes(), outputs[kY].dtype), lines);
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
