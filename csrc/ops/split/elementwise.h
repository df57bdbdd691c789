// How elementwise work is laid out: rows and columns of the axes in memory order.
#pragma once

#include "core/cache.h"
#include "kernels/elementwise/args.h"
#include "ops/contract/op.h"
#include "ops/split/tiles.h"

namespace npu_quant {

// Where a tensor's elements lie along the axes of the work. Of packed codes by CodeStrides.
struct Walked {
  char* data;
  const int64_t* strides;
  int64_t packed_item = 0;
  bool of_row_groups = false;  // it has a row for each group of rows
};

enum class Masks { none, read, written };

// Tensors are x, y, the parameters in the order of the kernel's, and the mask if there is one.
template <int parameters, Masks masks = Masks::none>
class Elementwise {
 public:
  static constexpr int kX = 0, kY = 1, kFirst = 2, kMask = kFirst + parameters;
  static constexpr int kTensors = kMask + (masks != Masks::none);

  // Walks `shape` as the tensor `read` lies in memory: reading line by line costs less than writing
  // so. A broadcast one has no order, then as `written` lies. With a tensor of packed codes it
  // walks as the shape has it: codes that share an element come one after the other.
  Elementwise(const Shape& shape, const Walked (&tensors)[kTensors], int read = kX,
              int written = kY)
      : Elementwise(shape, tensors,
                    Cut{.columns = kSegment,
                        .order_of = is_broadcast(shape, tensors[read].strides) ? written : read}) {}

  // Walks a matrix row by row; the groups of its rows must outlive the work.
  Elementwise(const Shape& shape, const Walked (&tensors)[kTensors], const RowGroups& groups)
      : Elementwise(shape, tensors,
                    Cut{.columns = kSegment, .row_axis = 0, .row_groups = &groups}) {}

  // Calls run(part) with what all kernels take, on threads. The work is an op's, which reads and
  // writes these arrays for the most part.
  template <class Run>
  void for_each_part(const Op& op, std::initializer_list<const TensorView*> arrays, Run run) const {
    const bool stream = worth_streaming(op.bytes());
    tiles_.for_each_part(data_, work_bytes(op.bytes(), arrays), [&](const auto& part) {
      if (part.rows == 0) return;  // behind the last row of a group
      ElementwiseArgs args{part.rows, part.n, part.at[kX], part.at[kY]};
      for (int p = 0; p < parameters; ++p) args.parameters[p] = part.at[kFirst + p];
      if constexpr (masks == Masks::read) args.read_mask = part.at[kMask];
      if constexpr (masks == Masks::written) args.written_mask = part.at[kMask];
      args.rule = op.rule;
      args.stream = stream;
      run(args);
    });
  }

 private:
  static constexpr int64_t kSegment = 1 << 15;  // elements
  using Tiled = Tiles<kTensors>;

  [[gnu::always_inline]]
  Elementwise(const Shape& shape, const Walked (&tensors)[kTensors], const Cut& cut)
      : tiles_(tiles_of(shape, tensors, cut)) {
    for (int t = 0; t < kTensors; ++t) data_[t] = tensors[t].data;
  }

  [[gnu::always_inline]]
  static Tiled tiles_of(const Shape& shape, const Walked (&tensors)[kTensors], Cut cut) {
    Cells<kTensors> cells;
    const int64_t* strides[kTensors];
    for (int t = 0; t < kTensors; ++t) {
      strides[t] = tensors[t].strides;
      cells.of[t].of_row_groups = tensors[t].of_row_groups;
      if (tensors[t].packed_item == 0) continue;
      cells.of[t] = {.columns = kPackedCodes, .packed_item = tensors[t].packed_item};
      cut.order_of = Cut::kNone;
    }
    return {shape, strides, cut, cells};
  }

  // One element stands for several.
  static bool is_broadcast(const Shape& shape, const int64_t* strides) {
    for (int axis = 0; axis < shape.rank; ++axis)
      if (strides[axis] == 0 && shape.dims[axis] > 1) return true;
    return false;
  }

  Tiled tiles_;
  char* data_[kTensors];
};

}  // namespace npu_quant
