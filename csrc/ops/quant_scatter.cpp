#include "ops/quant_scatter.h"

#include <algorithm>
#include <memory>
#include <new>
#include <tuple>

#include "core/dispatch.h"
#include "ops/split/elementwise.h"
#include "ops/split/quantize_parameters.h"

namespace npu_quant {
namespace {

constexpr Format kScattered[] = {Format::int8, Format::hifloat8, Format::float8_e5m2,
                                 Format::float8_e4m3fn};

}  // namespace

Inputs QuantScatter::inputs() {
  static constexpr DType kSelf[] = {DType::int8, DType::float8_e4m3fn, DType::float8_e5m2,
                                    DType::uint8},
                         kIndices[] = {DType::int32, DType::int64},
                         kUpdates[] = {DType::float16, DType::bfloat16},
                         kScales[] = {DType::float32, DType::bfloat16},
                         kZeroPoints[] = {DType::int32, DType::bfloat16};
  static constexpr const char* kAxes = "Its first axis holds batches, its last axis channels.";
  static constexpr const char* kOnePerChannel = "It holds one element per channel.";
  static constexpr Takes
      of_self = one_of(kSelf).ranks(3, kMaxRank, kAxes),
      of_tensor = Takes{}.ranks(3, kMaxRank, kAxes).lists_to(DType::int8),
      of_indices = one_of(kIndices).made_of(DType::int64).ranks(1, 2),
      of_updates = one_of(kUpdates).made_of(DType::float16).ranks(3, kMaxRank, kAxes),
      of_scales = one_of(kScales).made_of(DType::float32).ranks(1, kMaxRank, kOnePerChannel),
      of_zero_points = one_of(kZeroPoints).made_of(DType::int32).ranks(1, kMaxRank, kOnePerChannel);
  const bool is_tensors = self.dtype == DType::hifloat8;  // an aclTensor's
  return Inputs::of(required("self", self, is_tensors ? of_tensor : of_self),
                    required("indices", indices, of_indices),
                    required("updates", updates, of_updates),
                    required("quant_scales", quant_scales, of_scales),
                    optional("quant_zero_points", quant_zero_points, of_zero_points));
}

Attributes QuantScatter::attributes() {
  return Attributes::of(required("axis", axis), required("quant_axis", quant_axis),
                        required("reduce", reduce), optional("dst_type", dst_type),
                        optional("round_mode", round_mode));
}

void QuantScatter::plan_outputs() {
  const bool is_self = into_ == Into::self;
  outputs.assign(
      OutputSpec{is_self ? "self" : "", self.dtype, self.shape, is_self ? &self : nullptr});
}

Status QuantScatter::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_axes());
  NPU_QUANT_RETURN_IF_ERROR(reduce.check(name, "reduce", "available: "));
  NPU_QUANT_RETURN_IF_ERROR(check_codes());
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, "round_mode", "available: "));
  return check_round_mode(name, round_mode, codes());
}

// The first axis and the last have a meaning of their own.
Status QuantScatter::check_axes() {
  const int last = self.rank - 1;
  NPU_QUANT_RETURN_IF_ERROR(check_channel_axis(name, axis, self, "self", place_));
  if (place_ == 0 || place_ == last)
    return refuse("axis", axis,
                  {"expected neither the first nor the last axis of ", Argument("self")});
  if (quant_axis == -1 || quant_axis == last) return {};
  return refuse("quant_axis", quant_axis,
                {"available: -1 or ", last, " (the last axis of ", Argument("self"), ")"});
}

Status QuantScatter::check_codes() const {
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, kScattered));
  if (codes_in(self.dtype) == codes()) return {};
  return refuse(
      "dst_type", dst_type.came(),
      Text{"expected ", codes_in(self.dtype)} + holds({"self", self}, codes_in(self.dtype)));
}

Status QuantScatter::check_shapes() {
  const int64_t slabs = updates.shape.dims[0];
  bool fits = updates.rank == self.rank;
  for (int i = 0; fits && i < self.rank; ++i) {
    const int64_t own = updates.shape.dims[i], all = self.shape.dims[i];
    fits = own == all || (own < all && (i == 0 || i == place_));
  }
  if (!fits)
    return wrong_shape(
        name, "updates", updates,
        "expected " + the_shape({"self", self}) + Text{", or less along axes 0 and ", axis});
  if (indices.shape.dims[0] != slabs || (indices.rank == 2 && indices.shape.dims[1] != 2))
    return wrong_shape(name, "indices", indices,
                       {"expected (", slabs, ",) or (", slabs, ", 2): an entry for each index ",
                        "of the first axis of ", Argument("updates")});
  NPU_QUANT_RETURN_IF_ERROR(check_per_channel("quant_scales", quant_scales));
  return quant_zero_points.present ? check_per_channel("quant_zero_points", quant_zero_points)
                                   : Status{};
}

Status QuantScatter::check_per_channel(const char* argument, const TensorView& parameter) const {
  if (parameter.shape.size() == channels()) return {};
  return wrong_shape(
      name, argument, parameter,
      {"expected ", channels(), " elements: the length of the last axis of ", Argument("updates")});
}

// Where updates[i] goes, for each i.
struct QuantScatter::Slab {
  int64_t batch, position;

  bool operator<(const Slab& other) const {
    return std::tie(batch, position) < std::tie(other.batch, other.position);
  }
};

Status QuantScatter::check_elements() const {
  std::unique_ptr<Slab[]> slabs;
  return find_slabs(slabs);
}

// Copies the indices, so that nobody changes them, and judges them.
Status QuantScatter::find_slabs(std::unique_ptr<Slab[]>& slabs) const {
  const int64_t count = indices.shape.dims[0], length = updates.shape.dims[place_];
  slabs.reset(new (std::nothrow) Slab[static_cast<size_t>(count)]);
  if (slabs == nullptr) return out_of_memory(name);
  const bool is_pair = indices.rank == 2;
  for (int64_t i = 0; i < count; ++i) {
    const char* const entry = indices.data + i * indices.strides[0];
    const auto read = [&](int column, int64_t last, int64_t along, int64_t& index) -> Status {
      index = integer_at(entry + (is_pair ? column * indices.strides[1] : 0), indices.dtype);
      if (index >= 0 && index <= last) return {};
      Text subject{Argument("indices"), "[", i};
      if (is_pair) subject += {", ", column};
      return fault(name, Fault::attribute, subject += {"]"}, {"is ", index},
                   {"expected 0 to ", last, ": where ", Argument("updates"), " fit along axis ",
                    along, " of ", Argument("self")});
    };
    slabs[i].batch = i;
    if (is_pair) NPU_QUANT_RETURN_IF_ERROR(read(0, self.shape.dims[0] - 1, 0, slabs[i].batch));
    NPU_QUANT_RETURN_IF_ERROR(read(1, self.shape.dims[place_] - length, axis, slabs[i].position));
  }
  return {};
}

// Where each row of updates begins in y, in C order: from the innermost axis of rows outwards,
// those that are found are repeated for each place on it.
std::unique_ptr<int64_t[]> QuantScatter::find_rows(const Slab* slabs, const TensorView& y) const {
  const int64_t* const dims = updates.shape.dims;
  int64_t count = 1, found = 1;
  for (int i = 0; i < updates.rank - 1; ++i) count *= dims[i];
  std::unique_ptr<int64_t[]> rows(new (std::nothrow) int64_t[static_cast<size_t>(count)]);
  if (count == 0 || rows == nullptr) return rows;
  const auto offset_of = [&](int i, int64_t k) {
    if (i > 0) return k * y.strides[i];
    return slabs[k].batch * y.strides[0] + slabs[k].position * y.strides[place_];
  };
  rows[0] = 0;
  for (int i = updates.rank - 2; i >= 0; found *= dims[i--])
    for (int64_t k = dims[i] - 1; k >= 0; --k) {
      const int64_t offset = offset_of(i, k);
      for (int64_t row = 0; row < found; ++row) rows[k * found + row] = rows[row] + offset;
    }
  return rows;
}

// Whether some have rows in common; they are sorted then.
bool QuantScatter::meet(Slab* slabs) const {
  if (indices.rank == 1) return false;
  Slab* const end = slabs + indices.shape.dims[0];
  const int64_t length = updates.shape.dims[place_];
  std::sort(slabs, end);
  return end != std::adjacent_find(slabs, end, [=](const Slab& a, const Slab& b) {
           return a.batch == b.batch && b.position - a.position < length;
         });
}

Status QuantScatter::check_outputs(const TensorView* out) {
  return Op::check_outputs(into_ == Into::self ? &self : out);
}

Status QuantScatter::run(const TensorView* out) const {
  const TensorView& y = into_ == Into::self ? self : out[kY];
  std::unique_ptr<Slab[]> slabs;
  NPU_QUANT_RETURN_IF_ERROR(find_slabs(slabs));
  const std::unique_ptr<int64_t[]> rows = find_rows(slabs.get(), y);
  if (rows == nullptr) return out_of_memory(name);
  QuantizeParameters by;
  const auto assign = [this](Parameter& parameter, const TensorView& view) {
    return view.present ? parameter.assign(name, view, view.shape, view.strides)
                        : parameter.assign(name, view, channels());
  };
  NPU_QUANT_RETURN_IF_ERROR(assign(by.scale, quant_scales));
  NPU_QUANT_RETURN_IF_ERROR(assign(by.zero_point, quant_zero_points));
  NPU_QUANT_RETURN_IF_ERROR(by.prepare_division(name, codes(), channels()));
  if (into_ == Into::copy) copy_self(y);
  // A row that is written twice keeps what comes later: threads would not know.
  scatter(rows.get(), get_num_threads() > 1 && meet(slabs.get()), by, y);
  return {};
}

void QuantScatter::copy_self(const TensorView& y) const {
  const Elementwise<0> work(self.shape, {{self.data, self.strides}, {y.data, y.strides}});
  work.for_each_part(*this, {&self, &y}, [](const ElementwiseArgs& part) {
    run_on_active_target<CopyBytesKernel>({part});
  });
}

// Rows whose elements are neighbours in memory are put one by one, each where it belongs. Of
// others, as in a cache that is transposed, slabs are: each is walked as npu_quantize walks an
// array.
void QuantScatter::scatter(const int64_t* rows, bool in_order, const QuantizeParameters& by,
                           const TensorView& y) const {
  enum { kX, kPlaces, kFirst, kTensors = kFirst + QuantizeKernel::kParameters };
  Shape shape = updates.shape;
  if (shape.size() == 0) return;
  const int last = shape.rank - 1;
  const bool by_rows = y.strides[last] == 1;
  const int64_t slabs = shape.dims[0], per_slab = shape.size() / slabs / channels();
  int64_t of_rows[kMaxRank] = {}, along[kMaxRank] = {};
  along[last] = sizeof(float);
  for (int64_t i = last - 1, next = sizeof(int64_t); i >= 0; next *= shape.dims[i--])
    of_rows[i] = next;
  if (!by_rows) shape.dims[0] = 1;
  const Tiles<kTensors> tiles(
      shape, {updates.strides, by_rows ? of_rows : y.strides, along, along, along, along},
      by_rows ? Cut{.group_columns = Cut::kAll} : Cut{.columns = 1 << 15, .order_of = kX});
  const int64_t bytes = updates.bytes() + updates.shape.size();
  const bool stream = worth_streaming(bytes);
  const auto quantize = [&](const auto& part) {
    ElementwiseArgs work{part.rows, part.n, part.at[kX], part.at[kPlaces]};
    if (by_rows) {
      work.y_rows = reinterpret_cast<const int64_t*>(work.y.data);
      work.y = {y.data, 0, 1};
    }
    for (int p = 0; p < QuantizeKernel::kParameters; ++p) work.parameters[p] = part.at[kFirst + p];
    work.rule = rule;
    work.stream = stream;
    run_on_active_target<QuantizeKernel>(
        {.work = work, .x_dtype = updates.dtype, .codes = codes(), .divide = by.divide});
  };
  char* data[kTensors] = {updates.data, reinterpret_cast<char*>(const_cast<int64_t*>(rows))};
  for (int p = 0; p < QuantizeKernel::kParameters; ++p) data[kFirst + p] = by.of_kernel(p);
  if (by_rows && in_order) return tiles.for_each_part_of(0, tiles.count(), data, quantize);
  if (by_rows) return tiles.for_each_part(data, work_bytes(bytes, {&updates}), quantize);
  for (int64_t i = 0; i < slabs; ++i) {
    data[kX] = updates.data + i * updates.strides[0];
    data[kPlaces] = y.data + rows[i * per_slab];
    tiles.for_each_part(data, work_bytes(bytes / slabs, {&updates, &y}), quantize);
  }
}

}  // namespace npu_quant
