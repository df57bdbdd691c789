// How elementwise work is laid out: the axes in memory order, split into rows and segments of rows
// that threads share.
#pragma once

#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/elementwise_args.h"
#include "ops/op.h"

namespace npu_quant {

// Where a tensor's elements lie along the axes of the work. Of packed codes by CodeStrides.
struct Walked {
  char* data;
  const int64_t* strides;
  int64_t packed_item = 0;
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
      : Elementwise(shape, tensors, strides_of(tensors), read, written) {}

  // Calls run(part) with what all kernels take, on threads. The work is an op's, which reads and
  // writes these arrays for the most part.
  template <class Run>
  void for_each_part(const Op& op, std::initializer_list<const TensorView*> arrays, Run run) const {
    if (rows_.count() == 0 || n_ == 0) return;
    const bool stream = worth_streaming(op.bytes());
    const int64_t count = rows_.count() * rows_.segments_of(n_, kSegment);
    parallel_for(count, work_bytes(op.bytes(), arrays), [&](int64_t begin, int64_t end) {
      rows_.for_each_segment(
          begin, end, n_, kSegment,
          [&](const int64_t(&offsets)[kTensors], int64_t rows, int64_t first, int64_t last) {
            ElementwiseArgs part = part_at(offsets, rows, first, last);
            part.rule = op.rule;
            part.stream = stream;
            run(part);
          });
    });
  }

 private:
  static constexpr int64_t kSegment = 1 << 15;  // elements

  struct AllStrides {
    const int64_t* of[kTensors];
  };
  static AllStrides strides_of(const Walked (&tensors)[kTensors]) {
    AllStrides strides;
    for (int t = 0; t < kTensors; ++t) strides.of[t] = tensors[t].strides;
    return strides;
  }
  Elementwise(const Shape& shape, const Walked (&tensors)[kTensors], const AllStrides& strides,
              int read, int written)
      : axes_(has_packed(tensors) ? Axes<kTensors>(shape.dims, shape.rank, strides.of)
                                  : Axes<kTensors>::in_order_of(
                                        is_broadcast(shape, tensors[read].strides) ? written : read,
                                        shape.dims, shape.rank, strides.of)),
        n_(axes_.rank > 0 ? axes_.dims[axes_.rank - 1] : 1),
        rows_(axes_) {
    for (int t = 0; t < kTensors; ++t) tensors_[t] = tensors[t];
  }

  static bool has_packed(const Walked (&tensors)[kTensors]) {
    int64_t all = 0;
    for (const Walked& tensor : tensors) all |= tensor.packed_item;
    return all != 0;
  }

  // One element stands for several.
  static bool is_broadcast(const Shape& shape, const int64_t* strides) {
    for (int axis = 0; axis < shape.rank; ++axis)
      if (strides[axis] == 0 && shape.dims[axis] > 1) return true;
    return false;
  }

  ElementwiseArgs part_at(const int64_t (&offsets)[kTensors], int64_t rows, int64_t begin,
                          int64_t end) const {
    const auto at = [&](int t) -> Strided {
      const auto& [data, strides, packed_item] = tensors_[t];
      if (data == nullptr) return {};
      const int64_t stride = axes_.rank > 0 ? axes_.strides[t][axes_.rank - 1] : 0;
      const int64_t offset = offsets[t] + begin * stride, row_stride = rows_.inner_stride(t);
      if (packed_item == 0) return {data + offset, row_stride, stride};
      return {data + offset / kPackedCodes, row_stride / kPackedCodes, stride, nullptr,
              packed_item};
    };
    ElementwiseArgs part{rows, end - begin, at(kX), at(kY)};
    for (int p = 0; p < parameters; ++p) part.parameters[p] = at(kFirst + p);
    if constexpr (masks == Masks::read) part.read_mask = at(kMask);
    if constexpr (masks == Masks::written) part.written_mask = at(kMask);
    return part;
  }

  Axes<kTensors> axes_;
  int64_t n_;
  Rows<kTensors> rows_;
  Walked tensors_[kTensors];
};

}  // namespace npu_quant
