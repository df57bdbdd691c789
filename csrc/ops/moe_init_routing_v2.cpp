#include "ops/moe_init_routing_v2.h"

#include <algorithm>

#include "core/ceil_div.h"
#include "core/dispatch.h"
#include "core/parallel.h"
#include "kernels/elementwise/args.h"
#include "ops/split/dynamic_groups.h"

namespace npu_quant {
constexpr int64_t kMostExperts = 10240;

Inputs MoeInitRoutingV2::inputs() {
  static constexpr DType kAny[] = {DType::float16,    DType::bfloat16, DType::float32,
                                   DType::int8,       DType::uint8,    DType::float8_e4m3fn,
                                   DType::float8_e5m2},
                         kScales[] = {DType::float32, DType::uint8};
  static constexpr const char* kOfRows = "It holds a scale for each row of x.";
  static constexpr Takes
      of_any = one_of(kAny).made_of(DType::float32).lists_to(DType::float16).ranks(2, 2),
      of_floats = floats().ranks(2, 2),
      of_experts = one_of(kInt32).made_of(DType::int32).ranks(2, 2),
      of_row = one_of(kFloat32).made_of(DType::float32).ranks(1, 1, kOfRows),
      of_mx = one_of(kScales).made_of(DType::float32).ranks(1, 3, kOfRows),
      of_one = one_of(kFloat32).made_of(DType::float32).ranks(1, 1),
      of_columns = one_of(kFloat32).made_of(DType::float32).ranks(2, 2);
  const bool may_be_mx = size_of(x.dtype) == 1 && x.dtype != DType::int8;
  const Takes& of_scale = is_dynamic()          ? of_columns
                          : quant_mode != kNone ? of_one
                          : may_be_mx           ? of_mx
                                                : of_row;
  return Inputs::of(required("x", x, quant_mode == kNone ? of_any : of_floats),
                    required("expert_idx", expert_idx, of_experts),
                    optional("scale", scale, of_scale), optional("offset", offset, of_one));
}

Attributes MoeInitRoutingV2::attributes() {
  return Attributes::of(
      required("active_num", active_num), required("expert_capacity", expert_capacity),
      required("expert_num", expert_num), required("drop_pad_mode", drop_pad_mode),
      required("expert_tokens_num_type", expert_tokens_num_type),
      required("expert_tokens_num_flag", expert_tokens_num_flag),
      required("quant_mode", quant_mode), required("active_expert_range", active_expert_range),
      required("row_idx_type", row_idx_type), optional("x_dtype", x_dtype));
}

// Attributes may still be out of order: then it is of no meaning.
int64_t MoeInitRoutingV2::slots() const {
  const int64_t rows = expert_idx.shape.size();
  if (!is_dropping()) return active_num > 0 ? std::min(active_num, rows) : rows;
  return expert_num < 1 || expert_num > kMostExperts || expert_capacity < 1 ||
                 expert_capacity > kMostRows
             ? 0
             : expert_num * expert_capacity;
}

Shape MoeInitRoutingV2::expanded_shape() const {
  const int64_t columns = x.shape.dims[1] / (quant_mode == kDynamicInt4 ? 2 : 1);
  if (!is_dropping() || slots() == 0) return {2, {slots(), columns}};
  return {3, {expert_num, expert_capacity, columns}};
}

void MoeInitRoutingV2::plan_outputs() {
  const bool is_sane = expert_num >= 1 && expert_num <= kMostExperts;
  const int64_t experts =
      !is_sane ? 0
      : expert_tokens_num_type == kPairs
          ? expert_num
          : std::clamp<int64_t>(end(), 0, expert_num) - std::clamp<int64_t>(begin(), 0, expert_num);
  const DType dtype = quant_mode == kDynamicInt4                        ? DType::uint8
                      : quant_mode == kStatic || quant_mode == kDynamic ? DType::int8
                                                                        : x.dtype;
  Shape tokens{1, {std::max<int64_t>(experts, 0)}};
  if (expert_tokens_num_type == kPairs) tokens = {2, {tokens.dims[0], 2}};
  Shape scales{1, {slots()}};
  if (has_scale_rows()) {
    scales = scale.shape;
    scales.dims[0] = slots();
  }
  outputs.assign(OutputSpec{"expanded_x", dtype, fitting(expanded_shape())},
                 OutputSpec{"expanded_row_idx", DType::int32, {1, {expert_idx.shape.size()}}},
                 OutputSpec{"expert_tokens_count_or_cumsum", DType::int64, tokens},
                 OutputSpec{"expanded_scale", has_scale_rows() ? scale.dtype : DType::float32,
                            fitting(scales)});
}

Status MoeInitRoutingV2::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_experts());
  if (expert_tokens_num_type < kSums || expert_tokens_num_type > kPairs)
    return refuse("expert_tokens_num_type", expert_tokens_num_type,
                  "expected 0 (running sums), 1 (counts) or 2 (experts and their counts)");
  NPU_QUANT_RETURN_IF_ERROR(check_quantization());
  NPU_QUANT_RETURN_IF_ERROR(check_range());
  if (row_idx_type == 0 || row_idx_type == 1) return {};
  return refuse("row_idx_type", row_idx_type,
                "expected 0 (the slot of each row) or 1 (the row of each slot)");
}

Status MoeInitRoutingV2::check_experts() const {
  if (drop_pad_mode != 0 && drop_pad_mode != 1)
    return refuse("drop_pad_mode", drop_pad_mode,
                  {"expected 0 (a slot for each row) or 1 (", Argument("expert_capacity"),
                   " slots for each expert)"});
  if (expert_num < 1 || expert_num > kMostExperts)
    return refuse("expert_num", expert_num, {"expected 1 to ", kMostExperts});
  if (!is_dropping() || (expert_capacity >= 1 && expert_capacity <= kMostRows / expert_num))
    return {};
  return refuse("expert_capacity", expert_capacity,
                {"expected 1 to ", kMostRows / expert_num, " with ", Argument("drop_pad_mode"),
                 " 1 and ", expert_num, " experts"});
}

Status MoeInitRoutingV2::check_range() const {
  const Integers& range = active_expert_range;
  const auto wrong = [&](const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument("active_expert_range")}, came, allowed);
  };
  if (range.count != 0 && range.count != 2)
    return wrong({"has ", range.count, range.count == 1 ? " entry" : " entries"},
                 "expected 0, or 2: the first expert and the expert after the last");
  if (range.count == 0) return {};
  const Text came{"is [", range.each[0], ", ", range.each[1], "]"};
  if (range.each[0] < 0 || range.each[0] >= range.each[1] || range.each[1] > expert_num)
    return wrong(came,
                 {"expected 0 <= start < end <= ", expert_num, " (", Argument("expert_num"), ")"});
  if (!is_dropping() || (range.each[0] == 0 && range.each[1] == expert_num)) return {};
  return wrong(came,
               {"expected [0, ", expert_num, "] or none with ", Argument("drop_pad_mode"), " 1"});
}

// The mode, and what goes with it.
Status MoeInitRoutingV2::check_quantization() const {
  const auto misplaced = [this](const char* argument, const Text& came, const Text& allowed) {
    return fault(name, Fault::attribute, {Argument(argument)}, came, allowed);
  };
  if (quant_mode != kNone && quant_mode != kStatic && !is_dynamic())
    return refuse("quant_mode", quant_mode,
                  "available: -1 (none), 0 (by a scale), 1 (each row by its amax), 13 (the same "
                  "in int4)");
  if (quant_mode == kDynamicInt4 && is_dropping())
    return refuse("drop_pad_mode", drop_pad_mode,
                  {"expected 0 with ", Argument("quant_mode"), " 13"});
  const bool is_int4 = !x_dtype.is_default && x_dtype.format == Format::int4;
  if (!x_dtype.is_default && !(is_int4 && quant_mode == kDynamicInt4))
    return refuse(
        "x_dtype", x_dtype.came(),
        {"expected ", Nothing(), ", or ", Format::int4, " with ", Argument("quant_mode"), " 13"});
  if (quant_mode == kStatic)
    for (const auto& [argument, view] : {std::pair{"scale", &scale}, {"offset", &offset}})
      if (!view->present)
        return misplaced(argument, {"is ", Nothing()},
                         {"expected one element with ", Argument("quant_mode"), " 0"});
  if (quant_mode == kStatic || !offset.present) return {};
  return refuse("quant_mode", quant_mode, {"expected 0 with ", Argument("offset")});
}

Status MoeInitRoutingV2::take_rule() {
  if (is_dynamic()) rule = reference_rule(codes());
  return Op::take_rule();
}

Status MoeInitRoutingV2::check_shapes() {
  const int64_t rows = x.shape.dims[0], columns = x.shape.dims[1];
  if (expert_idx.shape.dims[0] != rows)
    return wrong_shape(name, "expert_idx", expert_idx,
                       {"expected (", rows, ", K): a row for each row of ", Argument("x")});
  if (expert_idx.shape.size() > kMostRows)
    return wrong_shape(name, "expert_idx", expert_idx,
                       {"expected at most ", kMostRows, " elements"});
  if (quant_mode == kDynamicInt4 && columns % 2 != 0)
    return wrong_shape(name, "x", x,
                       {"expected a last axis of a multiple of 2 for ", Format::int4});
  NPU_QUANT_RETURN_IF_ERROR(check_fits(name, "x", x, expanded_shape()));
  return scale.present ? check_scale() : Status{};
}

Status MoeInitRoutingV2::check_scale() const {
  const int64_t rows = x.shape.dims[0], columns = x.shape.dims[1], experts = end() - begin();
  const Shape &found = scale.shape, row{2, {1, columns}}, all{2, {experts, columns}};
  if (quant_mode == kStatic) {
    if (found != Shape{1, {1}}) return wrong_shape(name, "scale", scale, "expected (1,)");
    if (offset.shape != Shape{1, {1}}) return wrong_shape(name, "offset", offset, "expected (1,)");
    return {};
  }
  if (is_dynamic()) {
    if (found == row || found == all) return {};
    return wrong_shape(name, "scale", scale,
                       {"expected ", row, " or ", all,
                        ": a factor for each column, for all experts or for each in the range"});
  }
  if (scale.dtype == DType::uint8) {
    if (scale.rank == 3 && found.dims[0] == rows && found.dims[2] == 2)
      return check_fits(name, "scale", scale, {3, {slots(), found.dims[1], 2}});
    return wrong_shape(name, "scale", scale, {"expected (", rows, ", c, 2): bytes for each row"});
  }
  if (scale.rank == 1 && found.dims[0] == rows) return {};
  return wrong_shape(name, "scale", scale, {"expected (", rows, ",): a scale for each row"});
}

// Where rows go. Tables are of the rows' places in C order, those of zeros of slots.
struct MoeInitRoutingV2::Slots {
  KeyOrder order;
  std::unique_ptr<int32_t[]> of_row;  // -1 where there is none
  std::unique_ptr<int32_t[]> empty;
  int64_t empties = 0;
  RowTable x, scale, x_zeros, scale_zeros;
};

// Everything that a call needs room for, so that nothing fails later.
Status MoeInitRoutingV2::find_slots(Slots& found, const TensorView* out) const {
  KeyOrder& order = found.order;
  const int64_t rows = expert_idx.shape.size(), all = slots();
  NPU_QUANT_RETURN_IF_ERROR(
      order.assign(name, expert_idx, begin(), end(),
                   row_idx_type == 1 ? KeyOrder::Others::sorted : KeyOrder::Others::left_out));
  found.of_row = allocate_integers<int32_t>(rows);
  found.empty = allocate_integers<int32_t>(all);
  if (found.of_row == nullptr || found.empty == nullptr) return out_of_memory(name);
  std::fill_n(found.of_row.get(), rows, -1);
  const auto put_empty = [&](int64_t from, int64_t to) {
    for (; from < to; ++from) found.empty[found.empties++] = static_cast<int32_t>(from);
  };
  if (!is_dropping()) {
    for (int64_t i = 0; i < order.inside(); ++i) found.of_row[order[i]] = static_cast<int32_t>(i);
    put_empty(order.inside(), all);
  }
  for (int64_t expert = 0; is_dropping() && expert < expert_num; ++expert) {
    const int64_t first = order.begin_of(expert), slot = expert * expert_capacity;
    const int64_t taken = std::min(order.end_of(expert) - first, expert_capacity);
    for (int64_t i = 0; i < taken; ++i)
      found.of_row[order[first + i]] = static_cast<int32_t>(slot + i);
    put_empty(slot + taken, slot + expert_capacity);
  }
  const auto of_row = [&](int64_t i) { return found.of_row[i] < all ? found.of_row[i] : -1; };
  const auto of_empty = [&](int64_t i) { return found.empty[i]; };
  if (const TensorView& y = out[kX]; y.present) {
    const int axes = y.rank - 1;
    NPU_QUANT_RETURN_IF_ERROR(found.x.assign(name, y, axes, rows, of_row));
    NPU_QUANT_RETURN_IF_ERROR(found.x_zeros.assign(name, y, axes, found.empties, of_empty));
  }
  const TensorView& scales = out[kScale];
  if (!scales.present) return {};
  NPU_QUANT_RETURN_IF_ERROR(found.scale.assign(name, scales, 1, rows, of_row));
  if (is_dynamic() || has_scale_rows())
    return found.scale_zeros.assign(name, scales, 1, found.empties, of_empty);
  return found.scale_zeros.assign(name, scales, 0, 1, [](int64_t) { return 0; });
}

void MoeInitRoutingV2::write_rows(const Slots& slots, const TensorView& row_idx) const {
  const int64_t rows = expert_idx.shape.size();
  for (int64_t i = 0; i < rows; ++i)
    put_integer(row_idx, i, row_idx_type == 1 ? slots.order[i] : slots.of_row[i]);
}

void MoeInitRoutingV2::write_tokens(const KeyOrder& order, const TensorView& tokens) const {
  const bool is_pairs = expert_tokens_num_type == kPairs;
  const bool is_sum = expert_tokens_num_type == kSums && !is_dropping();
  TensorView counts = tokens;
  if (is_pairs) counts.data += tokens.strides[1];
  int64_t next = 0;
  for (int64_t expert = 0; expert_tokens_num_flag && expert < end() - begin(); ++expert) {
    const int64_t last = order.end_of(expert), count = last - order.begin_of(expert);
    if (is_pairs && count == 0) continue;
    if (is_pairs) put_integer(tokens, next, begin() + expert);
    put_integer(counts, next++, is_sum ? last : count);
  }
  for (; next < tokens.shape.dims[0]; ++next) {
    put_integer(tokens, next, 0);
    put_integer(counts, next, 0);
  }
}

// What rows are quantized by, and room for some of them in each part of the work.
struct MoeInitRoutingV2::Codes {
  Parameter scale, offset;
  int64_t row_bytes = 0, rows = 1;  // of codes; that are quantized together
  int64_t parts = 1;
  std::unique_ptr<char[]> scratch;  // codes, then scales, of each part

  int64_t part_bytes() const { return rows * (row_bytes + static_cast<int64_t>(sizeof(float))); }
};

Status MoeInitRoutingV2::prepare(Codes& codes) const {
  constexpr int64_t kTogether = 16 << 10, kPartsOfThread = 8;
  const int64_t columns = x.shape.dims[1];
  codes.row_bytes = quant_mode == kDynamicInt4 ? columns / 2 : columns;
  if (!has_factors_of_experts())
    codes.rows = std::clamp<int64_t>(kTogether / std::max<int64_t>(columns, 1), 1, 64);
  const int64_t units = has_factors_of_experts() ? expert_idx.shape.size() : x.shape.dims[0];
  codes.parts =
      std::clamp<int64_t>(ceil_div(units, codes.rows), 1, kPartsOfThread * get_num_threads());
  codes.scratch.reset(new (std::nothrow) char[static_cast<size_t>(
      std::max<int64_t>(codes.parts, 1) * codes.part_bytes())]);
  if (codes.scratch == nullptr) return out_of_memory(name);
  if (scale.present)
    NPU_QUANT_RETURN_IF_ERROR(codes.scale.assign(name, scale, scale.shape, scale.strides));
  return codes.offset.assign(name, offset, 1);
}

// So many rows from number `first` on, in the scratch; by the factors of the expert that place
// `place` is sent to, where each has its own.
void MoeInitRoutingV2::quantize(const Slots& slots, const Codes& by, int64_t first, int64_t place,
                                int64_t rows, char* scratch) const {
  const Strided values{x.data + first * x.strides[0], x.strides[0], x.strides[1]};
  const Strided codes_here{scratch, by.row_bytes, 1};
  if (quant_mode == kStatic)
    return run_on_active_target<QuantizeKernel>({.work = {.rows = rows,
                                                          .n = x.shape.dims[1],
                                                          .x = values,
                                                          .y = codes_here,
                                                          .parameters = {{by.scale.data()},
                                                                         {by.offset.data()},
                                                                         {by.offset.data()},
                                                                         {by.offset.data()}}},
                                                 .x_dtype = x.dtype,
                                                 .codes = codes(),
                                                 .divide = false});
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  const int64_t group = has_factors_of_experts() ? slots.order.group_at(place) : 0;
  Strided smooth{};
  if (scale.present) smooth = {by.scale.data() + group * x.shape.dims[1] * kFloat, 0, kFloat};
  run_dynamic({.dtype = x.dtype,
               .format = codes(),
               .rows = rows,
               .n = x.shape.dims[1],
               .group = x.shape.dims[1],
               .x = values,
               .smooth = smooth,
               .y = codes_here,
               .scale = {scratch + by.rows * by.row_bytes, kFloat, 0},
               .rule = rule,
               .stream = false});
}

// Rows one after the other, so that each is read from memory once: a token's codes are copied to
// all of its slots, or made anew for each.
void MoeInitRoutingV2::write_codes(const Slots& slots, const Codes& by,
                                   const TensorView* out) const {
  const int64_t k = expert_idx.shape.dims[1], step = has_factors_of_experts() ? 1 : k;
  const TensorView &y = out[kX], &scales = out[kScale];
  const bool has_codes = y.present && by.row_bytes > 0, has_scales = is_dynamic() && scales.present;
  if (k == 0 || (!has_codes && !has_scales)) return;
  const int64_t units = expert_idx.shape.size() / step, all = this->slots();
  const auto goes = [&](int64_t unit) {
    const int32_t* const first = slots.of_row.get() + unit * step;
    return std::any_of(first, first + step, [=](int32_t slot) { return slot >= 0 && slot < all; });
  };
  const auto put = [&](char* from, int64_t rows, int64_t n, int64_t item, const RowTable& to,
                       int64_t unit) {
    const TensorView& into = to.array();
    const int64_t stride = n > 1 || item == 1 ? into.strides[into.rank - 1] : item;
    run_on_active_target<MoveRowsKernel>({.rows = rows,
                                          .n = n,
                                          .item = item,
                                          .x = {from, n * item, item},
                                          .y = {into.data, 0, stride},
                                          .to = to.data() + unit * step,
                                          .copies = step,
                                          .stream = streams_rows(*this)});
  };
  parallel_for(by.parts, work_bytes(bytes(), {&x, &y}), [&](int64_t begin, int64_t end) {
    char* const scratch = by.scratch.get() + begin * by.part_bytes();
    const int64_t last = end * units / by.parts;
    for (int64_t unit = begin * units / by.parts, next; unit < last; unit = next) {
      next = unit + 1;
      if (!goes(unit)) continue;
      while (next < last && next - unit < by.rows && goes(next)) ++next;
      quantize(slots, by, unit * step / k, unit * step, next - unit, scratch);
      if (has_codes) put(scratch, next - unit, by.row_bytes, 1, slots.x, unit);
      if (has_scales)
        put(scratch + by.rows * by.row_bytes, next - unit, 1, sizeof(float), slots.scale, unit);
    }
  });
}

Status MoeInitRoutingV2::run(const TensorView* out) const {
  Slots found;
  Codes codes;
  const TensorView &y = out[kX], &scales = out[kScale];
  const int64_t rows = x.shape.dims[0], k = expert_idx.shape.dims[1];
  NPU_QUANT_RETURN_IF_ERROR(find_slots(found, out));
  if (quant_mode != kNone) NPU_QUANT_RETURN_IF_ERROR(prepare(codes));
  if (out[kRowIdx].present) write_rows(found, out[kRowIdx]);
  if (out[kTokens].present) write_tokens(found.order, out[kTokens]);
  if (y.present) move_rows(*this, kAbsent, found.empties, found.x_zeros, 1);
  const bool has_scales = is_dynamic() || has_scale_rows();
  if (scales.present)
    move_rows(*this, kAbsent, has_scales ? found.empties : 1, found.scale_zeros, 1);
  if (quant_mode != kNone) return write_codes(found, codes, out), Status{};
  if (y.present) move_rows(*this, x, rows, found.x, k);
  if (scales.present && has_scale_rows()) move_rows(*this, scale, rows, found.scale, k);
  return {};
}

}  // namespace npu_quant
