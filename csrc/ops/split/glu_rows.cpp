#include "ops/split/glu_rows.h"

#include <algorithm>

#include "core/dispatch.h"
#include "ops/split/parameter.h"
#include "ops/split/tiles.h"

namespace npu_quant {
namespace {

// Where the halves of a last axis begin, and how far their elements are apart.
struct Halves {
  int64_t second, stride;

  Halves(int64_t stride_of_all, int64_t n, bool interleaved)
      : second(interleaved ? stride_of_all : n * stride_of_all),
        stride(interleaved ? 2 * stride_of_all : stride_of_all) {}
};

// A parameter as the kernel reads it.
class GroupParameter {
 public:
  // Of each group: one value, or one for each of n elements of one half or of two.
  Status assign(const char* op, const TensorView& view, int64_t groups, int64_t n, int halves,
                bool interleaved) {
    if (!view.present) return {};
    const int last = view.rank - 1;
    const int64_t group = last > 0 ? view.strides[0] : 0, stride = view.strides[last];
    is_one_ = last == 0 && view.shape.dims[0] == groups;
    half_ = n * static_cast<int64_t>(sizeof(float));
    group_ = is_one_ ? sizeof(float) : halves * half_;
    if (is_one_) return values_.assign(op, view, {1, {groups}}, &stride);
    const Halves of(stride, n, interleaved && halves == 2);
    const int64_t strides[] = {group, of.second, of.stride};
    return values_.assign(op, view, {3, {groups, halves, n}}, strides);
  }
  Strided of(int64_t group, int half = 0) const {
    if (values_.data() == nullptr) return {};
    if (is_one_) return {values_.data() + group * group_};
    return {values_.data() + group * group_ + half * half_, 0, sizeof(float)};
  }

 private:
  Parameter values_;
  bool is_one_ = false;
  int64_t group_ = 0, half_ = 0;
};

// A call's tensors and parameters, and what the kernel is told about some of the rows.
class GluWork {
 public:
  explicit GluWork(const GluCall& call)
      : call_(call),
        n_(call.x.shape.dims[last()] / 2),
        halves_(call.x.strides[last()], n_, call.interleaved),
        of_y_(call.y, call.how.becomes != GluKernel::Becomes::values && is_packed(call.how.codes)),
        tiles_(half_of(call.x.shape),
               {of_half(), of_half(), of_y_.data(), of_scales(), call.origin->strides},
               {.group_columns = Cut::kAll}, cells()) {}

  Status take_parameters() {
    const char* const op = call_.op.name;
    const int64_t groups = call_.groups == nullptr ? 1 : call_.groups->count();
    const auto assign = [&](GroupParameter& to, const TensorView& view, int halves) {
      return to.assign(op, view, groups, n_, halves, call_.interleaved);
    };
    NPU_QUANT_RETURN_IF_ERROR(assign(weight_scale_, *call_.weight_scale, 2));
    NPU_QUANT_RETURN_IF_ERROR(assign(bias_, taken_as_bytes(*call_.bias), 2));
    NPU_QUANT_RETURN_IF_ERROR(assign(smooth_, *call_.smooth, 1));
    NPU_QUANT_RETURN_IF_ERROR(assign(scale_, *call_.scale, 1));
    NPU_QUANT_RETURN_IF_ERROR(assign(zero_point_, *call_.zero_point, 1));
    NPU_QUANT_RETURN_IF_ERROR(take_rows(activation_scale_, *call_.activation_scale));
    return take_rows(weight_, *call_.weight);
  }

  void run() const {
    char* const data[kTensors] = {call_.x.data, call_.x.data + halves_.second, call_.y.data,
                                  call_.scales.data, call_.origin->data};
    tiles_.for_each_part(data, work_bytes(call_.op.bytes(), {&call_.x, &call_.y}),
                         [&](const Part& part) {
                           const int64_t last = part.line + part.rows;
                           for (int64_t row = part.line, end; row < last; row = end) {
                             const int64_t group = group_of(row);
                             end = std::min(last, end_of(group));
                             run_on_active_target<GluKernel>(arguments(part, row, end, group));
                           }
                         });
  }

 private:
  enum { kFirst, kSecond, kY, kScales, kOrigin, kTensors };
  using Part = Tiles<kTensors>::Part;
  static constexpr int64_t kBehind = -1;

  int last() const { return call_.x.rank - 1; }
  const int64_t* of_half() {
    std::copy_n(call_.x.strides, kMaxRank, of_half_);
    of_half_[last()] = halves_.stride;
    return of_half_;
  }
  const int64_t* of_scales() {
    std::copy_n(call_.scales.strides, kMaxRank, of_scales_);
    of_scales_[last()] = 0;
    return of_scales_;
  }
  Cells<kTensors> cells() const {
    Cells<kTensors> cells;
    if (of_y_.item() > 0) cells.of[kY] = {.columns = kPackedCodes, .packed_item = of_y_.item()};
    return cells;
  }

  int64_t group_of(int64_t row) const {
    if (call_.groups == nullptr) return 0;
    return row < call_.groups->end_of(call_.groups->count() - 1) ? call_.groups->group_of(row)
                                                                 : kBehind;
  }
  int64_t end_of(int64_t group) const {
    return call_.groups == nullptr || group == kBehind ? INT64_MAX : call_.groups->end_of(group);
  }

  GluKernel::Args arguments(const Part& part, int64_t row, int64_t end, int64_t group) const {
    const auto at = [&](int tensor) { return part.at[tensor].from(row - part.line, 0); };
    GluKernel::Args args = call_.how;
    args.dtype = call_.x.dtype;
    args.rows = end - row;
    args.n = part.n;
    const int gate = call_.gate_first ? 0 : 1;
    args.gate.x = at(gate);
    args.factor.x = at(1 - gate);
    args.y = at(kY);
    take_scales(at(kScales), args);
    args.origin = at(kOrigin);
    args.bias_kind = bias_kind(*call_.bias);
    args.rule = call_.op.rule;
    args.stream = worth_streaming(call_.op.bytes());
    args.activation_scale = from_row(activation_scale_, row);
    args.weight = from_row(weight_, row);
    if (group == kBehind) {
      args.becomes = call_.behind;
      return args;
    }
    take_weights(group, gate, args.gate);
    take_weights(group, 1 - gate, args.factor);
    args.smooth = smooth_.of(group);
    args.scale = scale_.of(group);
    args.zero_point = zero_point_.of(group);
    return args;
  }
  Status take_rows(Parameter& to, const TensorView& of_rows) const {
    if (!of_rows.present) return {};
    return to.assign(call_.op.name, of_rows, of_rows.shape, of_rows.strides);
  }
  static Strided from_row(const Parameter& of_rows, int64_t row) {
    if (of_rows.data() == nullptr) return {};
    return {of_rows.data() + row * int64_t{sizeof(float)}, sizeof(float)};
  }
  // Of blocks they lie along the axes behind those of rows.
  void take_scales(const Strided& at, GluKernel::Args& args) const {
    const int64_t* const strides = call_.scales.strides + last();
    if (call_.how.becomes == GluKernel::Becomes::codes_by_mx)
      args.mx_scales = {at.data, at.row_stride, strides[0], strides[1]};
    else
      args.scales = {at.data, at.row_stride, args.block > 0 ? strides[0] : 0};
  }
  void take_weights(int64_t group, int half, GluKernel::Half& of) const {
    of.weight_scale = weight_scale_.of(group, half);
    of.bias = bias_.of(group, half);
  }

  const GluCall& call_;
  const int64_t n_;
  const Halves halves_;
  const CodeStrides of_y_;
  int64_t of_half_[kMaxRank], of_scales_[kMaxRank];
  const Tiles<kTensors> tiles_;
  GroupParameter weight_scale_, bias_, smooth_, scale_, zero_point_;
  Parameter activation_scale_, weight_;
};

}  // namespace

Status run_glu(const GluCall& call) {
  GluWork work(call);
  NPU_QUANT_RETURN_IF_ERROR(work.take_parameters());
  work.run();
  return {};
}

Shape half_of(Shape shape) {
  shape.dims[shape.rank - 1] /= 2;
  return shape;
}

Status GroupShapes::check(const char* argument, const TensorView& view) const {
  if (!view.present) return {};
  const Shape all{2, {groups, width}}, row{1, {width}}, each{1, {groups}};
  const bool may_be_row = groups == 1;
  if (view.shape == all || (may_be_row && view.shape == row) || (one_each && view.shape == each))
    return {};
  Text allowed{"expected ", all};
  if (may_be_row) allowed += {one_each ? ", " : " or ", row};
  if (one_each) allowed += {" or ", each};
  allowed += {" for ", groups, groups == 1 ? " group and " : " groups and ", width, " ", of_width};
  return wrong_shape(op, argument, view, allowed);
}

}  // namespace npu_quant
