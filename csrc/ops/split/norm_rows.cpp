#include "ops/split/norm_rows.h"

#include "core/dispatch.h"
#include "kernels/elementwise/args.h"
#include "ops/split/parameter.h"
#include "ops/split/tiles.h"

namespace npu_quant {
namespace {

using Kernel = RmsNormKernel;

// Strides (bytes) that repeat a view of gamma's last axis, of one element, or of all, over gamma.
void broadcast_strides(const TensorView& view, const Shape& gamma, int64_t (&strides)[kMaxRank]) {
  for (int64_t& stride : strides) stride = 0;
  for (int i = 1; i <= view.rank && i <= gamma.rank; ++i)
    if (view.shape.dims[view.rank - i] > 1) strides[gamma.rank - i] = view.strides[view.rank - i];
}

// A weight of the norm, as the kernel reads it; the values live here where they had to be copied.
class RowWeight {
 public:
  // One value, or one for each element of gamma; of a view that is absent those that add nothing.
  Status assign(const char* op, const TensorView& view, const Shape& gamma, bool is_one) {
    int64_t strides[kMaxRank] = {};
    if (view.present) broadcast_strides(view, gamma, strides);
    stride_ = is_one ? 0 : sizeof(float);
    return values_.assign(op, view, is_one ? Shape{} : gamma, strides);
  }
  Status assign_if_present(const char* op, const TensorView& view, const Shape& gamma) {
    return view.present ? assign(op, view, gamma, view.shape.size() == 1) : Status{};
  }
  Status allocate(const char* op, int64_t count, bool is_one) {
    stride_ = is_one ? 0 : sizeof(float);
    return values_.allocate(op, is_one ? 1 : count);
  }
  char* data() const { return values_.data(); }
  Strided weight() const { return {values_.data(), 0, stride_}; }

 private:
  Parameter values_;
  int64_t stride_ = 0;
};

// What an output's codes go by.
class OutputWeights {
 public:
  Status take(const NormCall& call, const NormCall::Quantizer& by) {
    const char* const op = call.op.name;
    const Shape& gamma = call.gamma->shape;
    NPU_QUANT_RETURN_IF_ERROR(smooth_.assign_if_present(op, *by.smooth, gamma));
    if (!by.scale->present) return {};
    const bool is_one = by.scale->shape.size() == 1 &&
                        (!by.zero_point->present || by.zero_point->shape.size() == 1);
    NPU_QUANT_RETURN_IF_ERROR(scale_.assign(op, *by.scale, gamma, is_one));
    NPU_QUANT_RETURN_IF_ERROR(zero_point_.assign(op, *by.zero_point, gamma, is_one));
    if (!call.divide || call.codes != Format::int8 || !has_many_rows(call)) return {};
    NPU_QUANT_RETURN_IF_ERROR(factor_.allocate(op, gamma.size(), is_one));
    NPU_QUANT_RETURN_IF_ERROR(steps_.allocate(op, gamma.size(), is_one));
    run_on_active_target<StepsKernel>({call.codes, is_one ? 1 : gamma.size(), scale_.data(),
                                       zero_point_.data(), factor_.data(), steps_.data()});
    return {};
  }
  Kernel::Quantizer quantizer() const {
    return {scale_.weight(), zero_point_.weight(), factor_.weight(), steps_.weight(),
            smooth_.weight()};
  }

 private:
  // Fewer are quantized before there are steps.
  static bool has_many_rows(const NormCall& call) {
    const int64_t n = call.gamma->shape.size(), many = n >= 1024 ? 4 : 12;
    return call.tensors[Kernel::kX1]->shape.size() >= many * n;
  }

  RowWeight scale_, zero_point_, factor_, steps_, smooth_;
};

// A call's tensors and weights, and what the kernel is told about some of the rows.
class NormWork {
 public:
  explicit NormWork(const NormCall& call)
      : call_(call),
        of_codes_{{*call.tensors[Kernel::kY1], packs()}, {*call.tensors[Kernel::kY2], packs()}},
        lead_(x().rank - call.gamma->rank),
        rows_(shape_of_rows(),
              {strides(0), strides(1), strides(2), strides(3), strides(4), strides(5), strides(6),
               strides(7), strides(8)},
              {.group_columns = Cut::kAll}),
        row_(call.gamma->shape.dims, call.gamma->rank,
             {of_row(0), of_row(1), of_row(2), of_row(3), of_row(4), of_row(5)}) {
    for (int t = 0; t < Kernel::kRstd && row_.rank > 1; ++t)
      axes_[t] = {row_.rank, row_.dims, row_.strides[t]};
    if (packs()) take_packed_axes();
  }

  Status take_weights() {
    const char* const op = call_.op.name;
    const Shape& shape = call_.gamma->shape;
    NPU_QUANT_RETURN_IF_ERROR(gamma_.assign_if_present(op, *call_.gamma, shape));
    NPU_QUANT_RETURN_IF_ERROR(beta_.assign_if_present(op, *call_.beta, shape));
    NPU_QUANT_RETURN_IF_ERROR(outputs_[0].take(call_, call_.quantizers[0]));
    return outputs_[1].take(call_, call_.quantizers[1]);
  }

  void run() const {
    const auto& t = call_.tensors;
    const int64_t bytes =
        work_bytes(call_.op.bytes(), {t[Kernel::kX1], t[Kernel::kX2], t[Kernel::kX], t[Kernel::kY1],
                                      t[Kernel::kY2], t[Kernel::kRmsNorm]});
    char* data[Kernel::kTensors];
    for (int i = 0; i < Kernel::kTensors; ++i) data[i] = t[i]->data;
    rows_.for_each_part(data, bytes,
                        [&](const Part& part) { run_on_active_target<Kernel>(arguments(part)); });
  }

 private:
  using Part = Tiles<Kernel::kTensors>::Part;

  static bool holds_codes(int tensor) { return tensor == Kernel::kY1 || tensor == Kernel::kY2; }
  const TensorView& x() const { return *call_.tensors[Kernel::kX1]; }
  bool packs() const { return is_packed(call_.codes); }
  const int64_t* strides(int tensor) const { return call_.tensors[tensor]->strides; }
  // With one axis for those of a row.
  Shape shape_of_rows() const {
    Shape shape = x().shape;
    shape.rank = lead_ + 1;
    shape.dims[lead_] = call_.gamma->shape.size();
    return shape;
  }
  // Of the axes of a row.
  const int64_t* of_row(int tensor) const {
    return (holds_codes(tensor) ? of_codes_[tensor - Kernel::kY1].data() : strides(tensor)) + lead_;
  }
  // Of the elements that hold the codes.
  void take_packed_axes() {
    const int last = row_.rank - 1;
    for (int axis = 0; axis <= last; ++axis)
      packed_dims_[axis] = row_.dims[axis] / (axis == last ? kPackedCodes : 1);
    for (int t = Kernel::kY1; t <= Kernel::kY2; ++t) {
      for (int axis = 0; axis < last; ++axis) row_.strides[t][axis] /= kPackedCodes;
      axes_[t].dims = packed_dims_;
    }
  }

  Kernel::Args arguments(const Part& part) const {
    Kernel::Args args{};
    args.dtype = x().dtype;
    args.codes = call_.codes;
    args.rows = part.rows;
    args.n = part.n;
    for (int t = 0; t < Kernel::kTensors; ++t) {
      const TensorView& of = *call_.tensors[t];
      if (!of.present) continue;
      args.tensors[t] = part.at[t];
      if (t >= Kernel::kRstd) continue;
      Strided& rows = args.tensors[t];
      rows.stride = row_.rank > 0 ? row_.strides[t][row_.rank - 1] : size_of(of.dtype);
      if (row_.rank > 1) rows.axes = &axes_[t];
      if (holds_codes(t)) rows.packed_item = of_codes_[t - Kernel::kY1].item();
    }
    args.gamma = gamma_.weight();
    args.beta = beta_.weight();
    args.quantizers[0] = outputs_[0].quantizer();
    args.quantizers[1] = outputs_[1].quantizer();
    args.epsilon = call_.epsilon;
    args.dynamic = call_.dynamic;
    args.divide = call_.divide;
    args.stream = worth_streaming(call_.op.bytes());
    args.rule = call_.op.rule;
    return args;
  }

  const NormCall& call_;
  const CodeStrides of_codes_[2];
  int lead_;
  Tiles<Kernel::kTensors> rows_;
  Axes<Kernel::kRstd> row_;
  RowAxes axes_[Kernel::kRstd];
  int64_t packed_dims_[kMaxRank];
  RowWeight gamma_, beta_;
  OutputWeights outputs_[2];
};

}  // namespace

Status run_norm(const NormCall& call) {
  NormWork work(call);
  NPU_QUANT_RETURN_IF_ERROR(work.take_weights());
  work.run();
  return {};
}

Status check_trailing_axes(const char* op, const char* argument, const TensorView& view,
                           const char* x_name, const TensorView& x) {
  const int lead = x.rank - view.rank;
  bool trails = lead >= 0;
  for (int i = 0; i < view.rank && trails; ++i)
    trails = view.shape.dims[i] == x.shape.dims[lead + i];
  if (trails) return {};
  return wrong_shape(op, argument, view, "expected the last axes of " + with_shape({x_name, x}));
}

Status check_norm_weight(const char* op, const char* argument, const TensorView& view,
                         const char* x_name, int64_t n) {
  if (!view.present) return {};
  const int last = view.rank - 1;
  if (view.shape.dims[last] == n && (last == 0 || view.shape.dims[0] == 1)) return {};
  return wrong_shape(op, argument, view,
                     {"expected ", Shape{1, {n}}, " or ", Shape{2, {1, n}},
                      ": the length of the last axis of ", Argument(x_name)});
}

TensorView last_axis_of(const TensorView& view) {
  TensorView row = view;
  if (view.rank != 2 || view.shape.dims[0] != 1) return row;
  row.rank = row.shape.rank = 1;
  row.shape.dims[0] = view.shape.dims[1];
  row.strides[0] = view.strides[1];
  return row;
}

}  // namespace npu_quant
