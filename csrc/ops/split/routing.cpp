#include "ops/split/routing.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/axes.h"
#include "core/dispatch.h"
#include "core/parallel.h"
#include "ops/split/parameter.h"

namespace npu_quant {

Shape fitting(const Shape& shape) {
  if (shape.has_at_most(kMostElements)) return shape;
  Shape empty = shape;
  for (int axis = 0; axis < shape.rank; ++axis) empty.dims[axis] = 0;
  return empty;
}

Status check_fits(const char* op, const char* argument, const TensorView& view,
                  const Shape& result) {
  if (result.has_at_most(kMostElements)) return {};
  return wrong_shape(op, argument, view,
                     {"expected at most ", kMostElements, " elements in the result"});
}

Status copy_numbers(const char* op, const TensorView& array, Numbers& to) {
  const int64_t count = array.shape.size();
  to = allocate_integers<int64_t>(count);
  if (to == nullptr) return out_of_memory(op);
  const int last = array.rank - 1;
  const int64_t columns = array.shape.dims[last];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = last > 0 ? i / columns : 0;
    to[i] = integer_at(array.data + (last > 0 ? row * array.strides[0] : 0) +
                           (i - row * columns) * array.strides[last],
                       array.dtype);
  }
  return {};
}

Status copy_indices(const char* op, const char* argument, const TensorView& array, int64_t least,
                    int64_t last, const Text& of_what, Numbers& to) {
  NPU_QUANT_RETURN_IF_ERROR(copy_numbers(op, array, to));
  const int64_t columns = array.shape.dims[array.rank - 1], count = array.shape.size();
  for (int64_t i = 0; i < count; ++i) {
    if (to[i] >= least && to[i] <= last) continue;
    Text subject{Argument(argument), "["};
    if (array.rank == 2) subject += {i / columns, ", "};
    subject += {array.rank == 2 ? i % columns : i, "]"};
    Text allowed{"expected ", least};
    last == INT64_MAX ? allowed += {" or more"} : allowed += {" to ", last};
    return fault(op, Fault::attribute, subject, {"is ", to[i]}, allowed += of_what);
  }
  return {};
}

Status KeyOrder::assign(const char* op, const TensorView& keys, int64_t begin, int64_t end,
                        Others others) {
  count_ = keys.shape.size();
  NPU_QUANT_RETURN_IF_ERROR(copy_numbers(op, keys, keys_));
  begin_ = begin, groups_ = end - begin;
  return sort(op, others);
}

// Where they are close together, all are a range that is counted.
Status KeyOrder::assign(const char* op, const TensorView& keys) {
  count_ = keys.shape.size();
  NPU_QUANT_RETURN_IF_ERROR(copy_numbers(op, keys, keys_));
  const auto [least, greatest] = std::minmax_element(keys_.get(), keys_.get() + count_);
  int64_t span = 0;
  const bool is_close =
      count_ > 0 && !__builtin_sub_overflow(*greatest, *least, &span) && span < 4 * count_ + 1024;
  begin_ = is_close ? *least : INT64_MIN;
  groups_ = is_close ? span + 1 : 0;
  return sort(op, Others::sorted);
}

Status KeyOrder::sort(const char* op, Others others) {
  ends_ = allocate_integers<int64_t>(groups_);
  order_ = allocate_integers<int32_t>(count_);
  if (ends_ == nullptr || order_ == nullptr) return out_of_memory(op);
  std::fill_n(ends_.get(), groups_, 0);
  for (int64_t i = 0; i < count_; ++i)
    if (const int64_t group = group_at(i); group >= 0) ++ends_[group];
  // What is counted becomes where each group begins, then, as it fills, where it ends.
  std::exclusive_scan(ends_.get(), ends_.get() + groups_, ends_.get(), int64_t{0});
  for (int64_t i = 0; i < count_; ++i)
    if (const int64_t group = group_at(i); group >= 0)
      order_[ends_[group]++] = static_cast<int32_t>(i);
  if (others == Others::left_out) return {};
  int32_t *const first = order_.get() + inside(), *last = first;
  for (int64_t i = 0; i < count_; ++i)
    if (group_at(i) < 0) *last++ = static_cast<int32_t>(i);
  const auto key_of = [this](int32_t i) { return keys_[i] < begin_ ? INT32_MAX : keys_[i]; };
  std::stable_sort(first, last, [&](int32_t a, int32_t b) { return key_of(a) < key_of(b); });
  return {};
}

// Rows that are written here and there leave no caches for each other: measured on Zen 4, 32 MiB of
// L3, streaming stores pay between 9 and 18 MB, earlier than where all is written in order.
bool streams_rows(const Op& op) {
  constexpr int64_t kWorthIt = 12 << 20;
  return streaming() == Streaming::by_size ? op.bytes() > kWorthIt : worth_streaming(op.bytes());
}

void move_rows(const Op& op, const TensorView& x, int64_t rows, const RowTable& to,
               int64_t copies) {
  const TensorView& y = to.array();
  const int64_t *const of_y = y.strides + to.axes(), *const of_x = x.present ? x.strides + 1 : of_y;
  Axes<2> axes(y.shape.dims + to.axes(), y.rank - to.axes(), {of_x, of_y});
  const int64_t item = size_of(y.dtype);
  int64_t n = 1;
  const int axis = axes.pop(n);
  const auto stride = [&](int t) { return axis < 0 ? item : axes.strides[t][axis]; };
  const bool stream = streams_rows(op);
  parallel_for(rows, work_bytes(op.bytes(), {&x, &y}), [&](int64_t begin, int64_t end) {
    for (int64_t matrix = 0; matrix < axes.count(); ++matrix) {
      int64_t offsets[2];
      axes.find_offsets(matrix, offsets);
      run_on_active_target<MoveRowsKernel>(
          {.rows = end - begin,
           .n = n,
           .item = item,
           .x = {x.present ? x.data + begin * x.strides[0] + offsets[0] : nullptr,
                 x.present ? x.strides[0] : 0, stride(0)},
           .y = {y.data + offsets[1], 0, stride(1)},
           .to = to.data() + begin * copies,
           .copies = copies,
           .stream = stream});
    }
  });
}

void gather_rows(const Op& op, const TensorView& x, const RowTable& of_x, const TensorView& y) {
  const bool stream = streams_rows(op);
  const int64_t here = 0;
  parallel_for(y.shape.dims[0], work_bytes(op.bytes(), {&x, &y}), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t offset = of_x.data()[row];
      run_on_active_target<MoveRowsKernel>(
          {.rows = 1,
           .n = y.shape.dims[1],
           .item = size_of(y.dtype),
           .x = {offset == kNoRow ? nullptr : x.data + offset, 0, x.strides[x.rank - 1]},
           .y = {y.data + row * y.strides[0], 0, y.strides[1]},
           .to = &here,
           .copies = 1,
           .stream = stream});
    }
  });
}

void WeighedSums::run(const Op& op) const {
  const bool stream = worth_streaming(op.bytes());
  const auto rows_of = [](const TensorView& view, int64_t row) -> Strided {
    if (!view.present) return {};
    return {view.data + row * view.strides[0], view.strides[0], view.strides[view.rank - 1]};
  };
  parallel_for(y.shape.dims[0], work_bytes(op.bytes(), {&x, &y}), [&](int64_t begin, int64_t end) {
    const int64_t term = begin * terms;
    run_on_active_target<WeighRowsKernel>(
        {.dtype = y.dtype,
         .rows = end - begin,
         .n = y.shape.dims[1],
         .terms = terms,
         .x = rows_of(x, 0),
         .y = rows_of(y, begin),
         .skips = {rows_of(*skip1, begin), rows_of(*skip2, begin)},
         .bias = rows_of(*bias, 0),
         .x_rows = of_x.data() + term,
         .bias_rows = of_bias == nullptr ? nullptr : of_bias->data() + term,
         .weights =
             weights == nullptr ? nullptr : weights + term * static_cast<int64_t>(sizeof(float)),
         .leaves_out_none = leaves_out_none,
         .stream = stream});
  });
}

void put_integer(const TensorView& array, int64_t i, int64_t value) {
  char* const to = array.data + i * array.strides[0];
  const auto narrow = static_cast<int32_t>(value);
  if (array.dtype == DType::int64)
    std::memcpy(to, &value, sizeof value);
  else
    std::memcpy(to, &narrow, sizeof narrow);
}

}  // namespace npu_quant
