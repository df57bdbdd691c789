#include "ops/dynamic_mx_quant.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "core/rows.h"
#include "ops/parameter.h"

namespace npu_quant {
namespace {

constexpr Format kMxFormats[] = {Format::float8_e5m2, Format::float8_e4m3fn, Format::float4_e2m1,
                                 Format::float4_e1m2};
constexpr int64_t kMostBlock = 1024;

constexpr int64_t parts_of(int64_t n, int64_t part) { return n / part + (n % part != 0); }

// A call: its tensors, and the axes that are neither that of the blocks nor the last one. Those
// that continue the last one are one with it.
class MxWork {
 public:
  MxWork(const DynamicMxQuant& op, const TensorView* out, const DynamicMxArgs& whole, int place)
      : whole_(whole), views_{&op.input, &out[DynamicMxQuant::kY], &out[DynamicMxQuant::kMxScale]} {
    const Shape& shape = op.input.shape;
    last_ = shape.rank - 1;
    pair_ = 2 * whole_.block;
    packed_ = codes_per_element(whole_.format, op.outputs[DynamicMxQuant::kY].dtype);
    is_in_rows_ = place == last_;
    whole_.n = shape.dims[last_];
    whole_.rows = is_in_rows_ ? 1 : shape.dims[place];
    for (int axis = 0; axis < last_; ++axis) {
      if (axis == place) continue;
      dims_[rank_] = shape.dims[axis];
      for (int t = 0; t < kTensors; ++t) strides_[t][rank_] = views_[t]->strides[axis];
      ++rank_;
    }
    locate(place);
    join();
  }

  // All of it, on threads.
  void run(int64_t bytes) const {
    const Rows<kTensors> others(dims_, rank_, {strides_[kX], strides_[kY], strides_[kScales]});
    is_in_rows_ ? quantize_rows(others, bytes) : quantize_columns(others, bytes);
  }

 private:
  enum { kX, kY, kScales, kTensors };
  // Threads share longer rows, and columns, in so many elements; of these so many side by side.
  static constexpr int64_t kSegment = 64 << 10, kColumns = 2048;

  // The first row, or the first matrix.
  void locate(int place) {
    const auto stride = [&](int t, int axis) { return views_[t]->strides[axis]; };
    whole_.x = {views_[kX]->data, is_in_rows_ ? 0 : stride(kX, place), stride(kX, last_)};
    if (views_[kY]->present)
      whole_.y = {views_[kY]->data, is_in_rows_ ? 0 : stride(kY, place), stride(kY, last_)};
    if (views_[kScales]->present)
      whole_.scales = {views_[kScales]->data, is_in_rows_ ? 0 : stride(kScales, last_),
                       stride(kScales, place), stride(kScales, last_ + 1)};
  }

  // Rows of blocks have to be of whole pairs for that.
  void join() {
    if (is_in_rows_ && whole_.n % pair_ != 0) return;
    const int64_t of_scales = is_in_rows_ ? whole_.n / pair_ * whole_.scales.pair_stride
                                          : whole_.n * whole_.scales.row_stride;
    const int64_t spans[kTensors] = {whole_.n * whole_.x.stride,
                                     whole_.n / packed_ * whole_.y.stride, of_scales};
    int64_t lines = 1;
    const auto continues = [&](int t) {
      return !views_[t]->present || strides_[t][rank_ - 1] == lines * spans[t];
    };
    while (rank_ > 0 &&
           (dims_[rank_ - 1] == 1 || (continues(kX) && continues(kY) && continues(kScales))))
      lines *= dims_[--rank_];
    whole_.n *= lines;
  }

  void quantize_rows(const Rows<kTensors>& others, int64_t bytes) const {
    const int64_t segment = std::max<int64_t>(kSegment / pair_, 1) * pair_;
    const int64_t count = others.count() * others.segments_of(whole_.n, segment);
    parallel_for(count, bytes, [&](int64_t begin, int64_t end) {
      others.for_each_segment(
          begin, end, whole_.n, segment,
          [&](const int64_t(&offsets)[kTensors], int64_t rows, int64_t first, int64_t last) {
            DynamicMxArgs part = part_at(offsets, 0, first, first / pair_);
            part.rows = rows;
            part.n = last - first;
            part.x.row_stride = others.inner_stride(kX);
            part.y.row_stride = others.inner_stride(kY);
            part.scales.row_stride = others.inner_stride(kScales);
            run_on_active_target<MxRowsKernel>(part);
          });
    });
  }

  void quantize_columns(const Rows<kTensors>& matrices, int64_t bytes) const {
    const int64_t across = parts_of(whole_.n, kColumns);
    const int64_t of_pair = pair_ * std::min(whole_.n, kColumns);
    const int64_t height = std::max<int64_t>(kSegment / of_pair, 1) * pair_;
    const int64_t parts = across * parts_of(whole_.rows, height);
    parallel_for(matrices.count() * parts, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        matrices.for_each_run(
            part / parts, part / parts + 1, [&](const int64_t(&offsets)[kTensors], int64_t) {
              const int64_t row = part % parts / across * height, first = part % across * kColumns;
              DynamicMxArgs of_matrix = part_at(offsets, row, first, row / pair_);
              of_matrix.rows = std::min(whole_.rows - row, height);
              of_matrix.n = std::min(whole_.n - first, kColumns);
              run_on_active_target<MxColumnsKernel>(of_matrix);
            });
    });
  }

  // From an element on, and from a pair of bytes on.
  DynamicMxArgs part_at(const int64_t (&offsets)[kTensors], int64_t row, int64_t i,
                        int64_t pair) const {
    DynamicMxArgs part = whole_;
    part.x = whole_.x.from(row, i);
    part.x.data += offsets[kX];
    part.y = whole_.y.from(row, i / packed_);
    if (part.y.data != nullptr) part.y.data += offsets[kY];
    part.scales = whole_.scales.from(is_in_rows_ ? 0 : i, pair);
    if (part.scales.data != nullptr) part.scales.data += offsets[kScales];
    return part;
  }

  DynamicMxArgs whole_;
  const TensorView* views_[kTensors];
  int last_, rank_ = 0;
  int64_t pair_, packed_;
  bool is_in_rows_;
  int64_t dims_[kMaxRank], strides_[kTensors][kMaxRank];
};

}  // namespace

Inputs DynamicMxQuant::inputs() { return Inputs::of(required("input", input)); }

Status DynamicMxQuant::check_dtypes() const { return check_float_dtype(name, "input", input); }

Status DynamicMxQuant::check_ranks() const {
  return check_rank(name, "input", input, 1, kMaxRank - 1,
                    input.rank == 0 ? "Give it an axis with input.reshape(1)."
                                    : "Merge axes with input.reshape.");
}

Format DynamicMxQuant::codes() const {
  const auto* const end = std::end(kMxFormats);
  return std::find(kMxFormats, end, dst_type.format) != end ? dst_type.format : Format::float4_e2m1;
}

void DynamicMxQuant::plan_outputs() {
  const int last = input.rank - 1;
  place_ = static_cast<int>(std::clamp<int64_t>(axis < 0 ? axis + input.rank : axis, 0, last));
  Shape scales = input.shape;
  scales.dims[place_] =
      parts_of(parts_of(scales.dims[place_], std::max<int64_t>(block_size, 1)), 2);
  scales.dims[scales.rank++] = 2;
  outputs.assign(codes_of("y", codes(), input.shape, dst_type.array),
                 OutputSpec{"mxscale", DType::uint8, scales});
}

Status DynamicMxQuant::check_attributes() {
  const auto wrong = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, came, allowed);
  };
  int place;
  NPU_QUANT_RETURN_IF_ERROR(check_channel_axis(name, axis, input, "input", place));
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, Fault::attribute, "round_mode", "available: "));
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kMxFormats));
  if (!is_packed(codes()) && round_mode.value() != MxRounding::rint)
    return wrong("round_mode", {"is ", quoted(round_mode.word())},
                 {"available for ", codes(), ": 'rint'"});
  if (block_size % kMxCell != 0 || block_size < kMxCell || block_size > kMostBlock)
    return wrong("block_size", {"is ", block_size},
                 {"expected a multiple of ", kMxCell, " from ", kMxCell, " to ", kMostBlock});
  NPU_QUANT_RETURN_IF_ERROR(check_scale_alg());
  NPU_QUANT_RETURN_IF_ERROR(check_bound(name, "max_low_bound", max_low_bound));
  if (max_low_bound != 0 && scale_alg != 1)
    return wrong("max_low_bound", {"is ", to_string(max_low_bound)},
                 "available: 0.0 (it belongs to scale_alg 1)");
  return {};
}

// And what goes with it.
Status DynamicMxQuant::check_scale_alg() const {
  const auto wrong = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, came, allowed);
  };
  const int64_t other = is_packed(codes()) ? 2 : 1;
  const bool has_other = codes() != Format::float4_e1m2;
  if (scale_alg != 0 && !(has_other && scale_alg == other))
    return wrong("scale_alg", {"is ", scale_alg},
                 has_other ? Text{"available for ", codes(), ": 0, ", other}
                           : Text{"available for ", codes(), ": 0"});
  if (scale_alg == 2 && block_size != kMxCell)
    return wrong("block_size", {"is ", block_size}, {"available with scale_alg 2: ", kMxCell});
  constexpr double kLeast = 6, kGreatest = 12;
  const bool is_in_range = dst_type_max >= kLeast && dst_type_max <= kGreatest;
  if (dst_type_max == 0 || (scale_alg == 2 && is_in_range)) return {};
  return wrong("dst_type_max", {"is ", to_string(dst_type_max)},
               scale_alg == 2 ? Text("expected 0 or a number from 6 to 12")
                              : Text("available: 0.0 (it belongs to scale_alg 2)"));
}

Status DynamicMxQuant::check_shapes() {
  return check_packable(name, "input", input, codes(), outputs[kY].dtype);
}

MxRule DynamicMxQuant::mx_rule() const {
  constexpr int32_t kFraction = (1 << 23) - 1, kBias = 127;
  const auto greatest = std::bit_cast<int32_t>(rule.greatest);
  return {.least = std::bit_cast<int32_t>(to_float32(max_low_bound)),
          .added = scale_alg == 0 ? 0 : kFraction - (greatest & kFraction),
          .emax = (greatest >> 23) - kBias};
}

Status DynamicMxQuant::run(const TensorView* out) const {
  if (input.shape.size() == 0 || (!out[kY].present && !out[kMxScale].present)) return {};
  const DynamicMxArgs whole{.dtype = input.dtype,
                            .format = codes(),
                            .rows = 0,
                            .n = 0,
                            .block = block_size,
                            .x = {},
                            .y = {},
                            .scales = {},
                            .rule = mx_rule(),
                            .rounding = round_mode.value(),
                            .stream = worth_streaming(bytes())};
  MxWork(*this, out, whole, place_).run(work_bytes(bytes(), {&input, &out[kY]}));
  return {};
}

}  // namespace npu_quant
