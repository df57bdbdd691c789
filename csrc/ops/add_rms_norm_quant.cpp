#include "ops/add_rms_norm_quant.h"

#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/add_rms_norm_quant.h"
#include "ops/parameter.h"

namespace npu_quant {
namespace {

using Kernel = AddRmsNormQuantKernel;

// Strides (bytes) that repeat a view of gamma's last axis, of one element, or of all, over gamma.
void broadcast_strides(const TensorView& view, const Shape& gamma, int64_t (&strides)[kMaxRank]) {
  for (int64_t& stride : strides) stride = 0;
  for (int i = 1; i <= view.rank && i <= gamma.rank; ++i)
    if (view.shape.dims[view.rank - i] > 1) strides[gamma.rank - i] = view.strides[view.rank - i];
}

// A weight of the norm, as the kernel reads it; the values live here where they had to be copied.
class RowWeight {
 public:
  Status assign(const char* op, const TensorView& view, const Shape& gamma) {
    if (!view.present) return {};
    const bool is_one = view.shape.size() == 1;
    int64_t strides[kMaxRank];
    broadcast_strides(view, gamma, strides);
    stride_ = is_one ? 0 : sizeof(float);
    return values_.assign(op, view, is_one ? Shape{} : gamma, strides);
  }
  Strided weight() const { return {values_.data(), 0, stride_}; }

 private:
  Parameter values_;
  int64_t stride_ = 0;
};

// A call's tensors and weights, and what the kernel is told about some of the rows.
class Work {
 public:
  Work(const AddRmsNormQuant& op, Format codes, const TensorView* out)
      : op_(op),
        codes_(codes),
        tensors_{&op.x1,       &op.x2,       &out[op.kX],
                 &out[op.kY1], &out[op.kY2], op.with_rms_norm ? &out[op.kRmsNorm] : &absent_},
        of_codes_{{out[op.kY1], is_packed(codes)}, {out[op.kY2], is_packed(codes)}},
        lead_(op.x1.rank - op.gamma.rank),
        rows_(op.x1.shape.dims, lead_,
              {strides(0), strides(1), strides(2), strides(3), strides(4), strides(5)}),
        row_(op.gamma.shape.dims, op.gamma.rank,
             {of_row(0), of_row(1), of_row(2), of_row(3), of_row(4), of_row(5)}) {
    for (int t = 0; t < Kernel::kTensors; ++t) axes_[t] = {row_.rank, row_.dims, row_.strides[t]};
    if (packs()) take_packed_axes();
  }

  bool is_empty() const { return rows_.count() == 0 || op_.gamma.shape.size() == 0; }

  Status take_weights() {
    const TensorView* const views[kWeights] = {&op_.gamma,        &op_.beta,    &op_.scales1,
                                               &op_.zero_points1, &op_.scales2, &op_.zero_points2};
    for (int i = 0; i < kWeights; ++i)
      NPU_QUANT_RETURN_IF_ERROR(weights_[i].assign(op_.name, *views[i], op_.gamma.shape));
    return {};
  }

  void run() const {
    const int64_t bytes = work_bytes(op_.bytes(), {tensors_[0], tensors_[1], tensors_[2],
                                                   tensors_[3], tensors_[4], tensors_[5]});
    parallel_for(rows_.count(), bytes, [&](int64_t begin, int64_t end) {
      rows_.for_each_run(begin, end, [&](const Offsets& offsets, int64_t rows) {
        run_on_active_target<Kernel>(arguments(offsets, rows));
      });
    });
  }

 private:
  static constexpr int kWeights = 6;
  using Offsets = int64_t[Kernel::kTensors];

  static bool holds_codes(int tensor) { return tensor == Kernel::kY1 || tensor == Kernel::kY2; }
  bool packs() const { return is_packed(codes_); }
  const int64_t* strides(int tensor) const { return tensors_[tensor]->strides; }
  // Of the axes of a row.
  const int64_t* of_row(int tensor) const {
    const bool is_of_codes = holds_codes(tensor);
    return (is_of_codes ? of_codes_[tensor - Kernel::kY1].data() : strides(tensor)) + lead_;
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

  Strided weight(int i) const { return weights_[i].weight(); }

  Kernel::Args arguments(const Offsets& offsets, int64_t rows) const {
    Kernel::Args args{};
    args.dtype = op_.x1.dtype;
    args.codes = codes_;
    args.rows = rows;
    args.n = op_.gamma.shape.size();
    for (int t = 0; t < Kernel::kTensors; ++t) {
      if (!tensors_[t]->present) continue;
      const int64_t one = size_of(tensors_[t]->dtype);
      args.tensors[t] = {tensors_[t]->data + offsets[t], rows_.inner_stride(t),
                         row_.rank > 0 ? row_.strides[t][row_.rank - 1] : one,
                         row_.rank > 1 ? &axes_[t] : nullptr,
                         holds_codes(t) ? of_codes_[t - Kernel::kY1].item() : 0};
    }
    args.gamma = weight(0);
    args.beta = weight(1);
    args.quantizers[0] = {weight(2), weight(3)};
    args.quantizers[1] = {weight(4), weight(5)};
    args.epsilon = op_.epsilon;
    args.divide = op_.div_mode;
    args.stream = worth_streaming(op_.bytes());
    return args;
  }

  const AddRmsNormQuant& op_;
  const Format codes_;
  const TensorView absent_;
  const TensorView* tensors_[Kernel::kTensors];
  const CodeStrides of_codes_[2];
  int lead_;
  Rows<Kernel::kTensors> rows_;
  Axes<Kernel::kTensors> row_;
  RowAxes axes_[Kernel::kTensors];
  int64_t packed_dims_[kMaxRank];
  RowWeight weights_[kWeights];
};

}  // namespace

Inputs AddRmsNormQuant::inputs() {
  return Inputs::of(required("x1", x1), required("x2", x2), required("gamma", gamma),
                    required("scales1", scales1, DType::float32),
                    optional("zero_points1", zero_points1, DType::int32), optional("beta", beta),
                    optional("scales2", scales2, DType::float32),
                    optional("zero_points2", zero_points2, DType::int32));
}

Attributes AddRmsNormQuant::attributes() {
  return Attributes::of(required("axis", axis), required("epsilon", epsilon),
                        required("div_mode", div_mode), optional("dst_type", dst_type));
}

Status AddRmsNormQuant::check_dtypes() const {
  NPU_QUANT_RETURN_IF_ERROR(check_float_dtype(name, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, "x2", x2, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, "gamma", gamma, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(name, "beta", beta, "x1", x1));
  const auto check = [this](const char* argument, const TensorView& view, auto allowed) {
    return check_dtype_in_or_same(name, argument, view, allowed, "x1", x1);
  };
  const std::initializer_list<DType> of_scales = {DType::float32},
                                     of_zero_points = {DType::int32, DType::float32};
  NPU_QUANT_RETURN_IF_ERROR(check("scales1", scales1, of_scales));
  NPU_QUANT_RETURN_IF_ERROR(check("scales2", scales2, of_scales));
  NPU_QUANT_RETURN_IF_ERROR(check("zero_points1", zero_points1, of_zero_points));
  return check("zero_points2", zero_points2, of_zero_points);
}

Status AddRmsNormQuant::check_ranks() const {
  const auto has_axis = [this](const char* argument, const TensorView& view) {
    return check_rank(name, argument, view, 1, kMaxRank);
  };
  const auto quantizes = [this](const char* argument, const TensorView& view) {
    return check_rank(name, argument, view, 0, kMaxRank,
                      "It holds one element, or one per element of gamma.");
  };
  NPU_QUANT_RETURN_IF_ERROR(has_axis("x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(has_axis("gamma", gamma));
  NPU_QUANT_RETURN_IF_ERROR(quantizes("scales1", scales1));
  NPU_QUANT_RETURN_IF_ERROR(quantizes("zero_points1", zero_points1));
  NPU_QUANT_RETURN_IF_ERROR(quantizes("scales2", scales2));
  return quantizes("zero_points2", zero_points2);
}

void AddRmsNormQuant::plan_outputs() {
  const OutputSpec y1 = codes_of("y1", codes(), x1.shape, dst_type.array),
                   y2 = codes_of("y2", codes(), x1.shape, dst_type.array),
                   x{"x", x1.dtype, x1.shape}, rms_norm{"rms_norm", x1.dtype, x1.shape};
  if (with_rms_norm)
    outputs.assign(y1, y2, x, rms_norm);
  else
    outputs.assign(y1, y2, x);
}

Status AddRmsNormQuant::check_attributes() {
  if (axis != -1)
    return refuse("axis", axis,
                  {"available: -1 (the norm runs over all axes of ", Argument("gamma"), ")"});
  return check_dst_type(name, dst_type, kCodeFormats);
}

Status AddRmsNormQuant::check_quantizer_shape(const char* argument, const TensorView& view) const {
  if (!view.present || view.shape.size() == 1 || view.shape == gamma.shape) return {};
  const int last = view.rank - 1;
  bool ones = last >= 0 && view.shape.dims[last] == gamma.shape.dims[gamma.rank - 1];
  for (int i = 0; i < last; ++i) ones = ones && view.shape.dims[i] == 1;
  if (ones) return {};
  return wrong_shape(name, argument, view,
                     {"expected that of ", Argument("gamma"), ", ", gamma.shape,
                      ", its last axis or one element"});
}

Status AddRmsNormQuant::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_packable(name, "x1", x1, codes(), outputs[kY1].dtype));
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "x2", x2, "x1", x1));
  const int lead = x1.rank - gamma.rank;
  bool trails = lead >= 0;
  for (int i = 0; i < gamma.rank && trails; ++i)
    trails = gamma.shape.dims[i] == x1.shape.dims[lead + i];
  if (!trails)
    return wrong_shape(
        name, "gamma", gamma,
        {"expected the last axes of ", Argument("x1"), ", which has shape ", x1.shape});
  NPU_QUANT_RETURN_IF_ERROR(check_same_shape(name, "beta", beta, "gamma", gamma));
  NPU_QUANT_RETURN_IF_ERROR(check_quantizer_shape("scales1", scales1));
  NPU_QUANT_RETURN_IF_ERROR(check_quantizer_shape("zero_points1", zero_points1));
  NPU_QUANT_RETURN_IF_ERROR(check_quantizer_shape("scales2", scales2));
  return check_quantizer_shape("zero_points2", zero_points2);
}

Status AddRmsNormQuant::run(const TensorView* out) const {
  Work work(*this, codes(), out);
  if (work.is_empty()) return {};
  NPU_QUANT_RETURN_IF_ERROR(work.take_weights());
  work.run();
  return {};
}

}  // namespace npu_quant
