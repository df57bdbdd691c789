// What the MX operators share: the shape of their scales, and how their work is laid out.
#pragma once

#include <algorithm>

#include "core/cache.h"
#include "kernels/mx/mx.h"
#include "ops/contract/contract.h"
#include "ops/split/tiles.h"

namespace npu_quant {

// The scales of blocks along an axis: pairs of them, in a last axis of 2.
inline Shape mx_scales_of(Shape shape, int place, int64_t block) {
  shape.dims[place] = ceil_div(ceil_div(shape.dims[place], block), 2);
  shape.dims[shape.rank++] = 2;
  return shape;
}

// A part of the work: rows along which blocks lie, or else rows that lie across them.
struct MxPart {
  bool is_in_rows;
  int64_t rows, n;  // numbers
  Strided numbers, codes;
  MxScales scales;
  bool in_tiles;  // blocks lie along both
  MxScales row_scales;
};

// A call's tensors, and the axis along which blocks lie.
struct MxWork {
  const Shape& shape;  // of numbers
  int place;
  int64_t block;
  Format format;
  const TensorView &numbers, &codes, &scales;
  bool gives_codes = true;
  const TensorView* row_scales = nullptr;  // blocks are tiles where there are some
  const RowGroups* groups = nullptr;       // of rows, in each of which pairs begin anew

  // Calls run(part) on threads; `bytes` is what all of it reads and writes.
  template <class Run>
  void for_each_part(int64_t bytes, Run run) const {
    const bool is_in_rows = place == shape.rank - 1, in_tiles = row_scales != nullptr;
    const TensorView& of_rows = in_tiles ? *row_scales : kAbsent;
    const Cell of_codes{.columns = packed()}, of_pairs{.columns = 2 * block};
    const Tiles<kTensors> tiles(
        shape, {numbers.strides, codes.strides, scales.strides, of_rows.strides},
        is_in_rows ? cut_of_rows() : cut_of_columns(bytes),
        {{{}, of_codes, is_in_rows ? of_pairs : Cell{.of_groups = true}, of_pairs}});
    const int64_t lane = scales.strides[shape.rank], row_lane = of_rows.strides[shape.rank];
    tiles.for_each_part({numbers.data, codes.data, scales.data, of_rows.data}, bytes,
                        [&](const auto& part) {
                          const Strided &to = part.at[kScales], &to_rows = part.at[kRowScales];
                          run(MxPart{is_in_rows,
                                     part.rows,
                                     part.n,
                                     part.at[kNumbers],
                                     part.at[kCodes],
                                     is_in_rows ? MxScales{to.data, to.row_stride, to.stride, lane}
                                                : MxScales{to.data, to.stride, to.row_stride, lane},
                                     in_tiles,
                                     {to_rows.data, to_rows.row_stride, to_rows.stride, row_lane}});
                        });
  }

 private:
  enum { kNumbers, kCodes, kScales, kRowScales, kTensors };
  static constexpr int64_t kPart = 64 << 10, kColumns = 2048;

  int64_t packed() const { return codes_per_element(format, find_row(format)->carrier); }

  Cut cut_of_rows() const {
    const int64_t pair = 2 * block;
    return {.group_columns = pair, .columns = std::max<int64_t>(kPart / pair, 1) * pair};
  }
  // All but the first parts begin at a cache line of what is streamed; those of tiles, at a tile.
  Cut cut_of_columns(int64_t bytes) const {
    const bool in_tiles = row_scales != nullptr;
    return {.group_rows = 2 * block,
            .group_columns = in_tiles ? 2 * block : 1,
            .columns = kColumns,
            .head = worth_streaming(bytes) && !in_tiles ? elements_to_line() : 0,
            .elements = kPart,
            .row_axis = place,
            .row_groups = groups};
  }
  // Of the results, in whole bytes of codes.
  int64_t elements_to_line() const {
    const char* const data = gives_codes ? codes.data : numbers.data;
    const auto bytes = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(data) % 64);
    if (gives_codes) return bytes * packed();
    return bytes / size_of(numbers.dtype) / packed() * packed();
  }
};

}  // namespace npu_quant
