// What the MX operators share: their formats, the shape of their scales, and how their work is laid
// out.
#pragma once

#include <algorithm>

#include "core/cache.h"
#include "core/parallel.h"
#include "core/rows.h"
#include "kernels/dynamic_mx_quant.h"
#include "ops/contract.h"

namespace npu_quant {

inline constexpr Format kMxFormats[] = {Format::float8_e5m2, Format::float8_e4m3fn,
                                        Format::float4_e2m1, Format::float4_e1m2};

constexpr int64_t parts_of(int64_t n, int64_t part) { return n / part + (n % part != 0); }

// The scales of blocks along an axis: pairs of them, in a last axis of 2.
inline Shape mx_scales_of(Shape shape, int place, int64_t block) {
  shape.dims[place] = parts_of(parts_of(shape.dims[place], block), 2);
  shape.dims[shape.rank++] = 2;
  return shape;
}

// A part of the work: rows along which blocks lie, or else rows that lie across them.
struct MxPart {
  bool is_in_rows;
  int64_t rows, n;  // numbers
  Strided numbers, codes;
  MxScales scales;
  bool in_tiles = false;  // blocks lie along both
  MxScales row_scales = {};
};

inline constexpr TensorView kNoTensor{};

// A call: its tensors, and the axes that are neither that of the blocks nor the last one. Those
// that continue the last one are one with it.
class MxWork {
 public:
  // Blocks are tiles where there are scales of rows.
  MxWork(const Shape& shape, int place, int64_t block, Format format,
         const TensorView* const (&views)[3], bool gives_codes = true,
         const TensorView* row_scales = nullptr)
      : gives_codes_(gives_codes),
        pair_(2 * block),
        packed_(codes_per_element(format, find_row(format)->carrier)),
        last_(shape.rank - 1) {
    std::copy(std::begin(views), std::end(views), views_);
    whole_.in_tiles = row_scales != nullptr;
    views_[kRowScales] = whole_.in_tiles ? row_scales : &kNoTensor;
    whole_.is_in_rows = place == last_;
    whole_.n = shape.dims[last_];
    whole_.rows = whole_.is_in_rows ? 1 : shape.dims[place];
    for (int axis = 0; axis < last_; ++axis) {
      if (axis == place) continue;
      dims_[rank_] = shape.dims[axis];
      for (int t = 0; t < kTensors; ++t) strides_[t][rank_] = views_[t]->strides[axis];
      ++rank_;
    }
    locate(place);
    join();
  }

  // Calls run(part) on threads; `bytes` is what all of it reads and writes.
  template <class Run>
  void for_each_part(int64_t bytes, Run run) const {
    const Rows<kTensors> others(
        dims_, rank_,
        {strides_[kNumbers], strides_[kCodes], strides_[kScales], strides_[kRowScales]});
    whole_.is_in_rows ? for_each_row(others, bytes, run) : for_each_matrix(others, bytes, run);
  }

 private:
  enum { kNumbers, kCodes, kScales, kRowScales, kTensors };
  // Threads share longer rows, and columns, in so many elements; of these so many side by side.
  static constexpr int64_t kSegment = 64 << 10, kColumns = 2048;

  // The first row, or the first matrix.
  void locate(int place) {
    const bool in_rows = whole_.is_in_rows;
    const auto strided = [&](int t) -> Strided {
      const int64_t* const strides = views_[t]->strides;
      if (!views_[t]->present) return {};
      return {views_[t]->data, in_rows ? 0 : strides[place], strides[last_]};
    };
    whole_.numbers = strided(kNumbers);
    whole_.codes = strided(kCodes);
    const int64_t* const strides = views_[kScales]->strides;
    if (views_[kScales]->present)
      whole_.scales = {views_[kScales]->data, in_rows ? 0 : strides[last_], strides[place],
                       strides[last_ + 1]};
    const TensorView& rows = *views_[kRowScales];
    if (rows.present)
      whole_.row_scales = {rows.data, rows.strides[place], rows.strides[last_],
                           rows.strides[last_ + 1]};
  }

  // Rows of blocks have to be of whole pairs for that.
  void join() {
    if ((whole_.is_in_rows || whole_.in_tiles) && whole_.n % pair_ != 0) return;
    const int64_t of_scales = whole_.is_in_rows ? whole_.n / pair_ * whole_.scales.pair_stride
                                                : whole_.n * whole_.scales.row_stride;
    const int64_t spans[kTensors] = {whole_.n * whole_.numbers.stride,
                                     whole_.n / packed_ * whole_.codes.stride, of_scales,
                                     whole_.n / pair_ * whole_.row_scales.pair_stride};
    int64_t lines = 1;
    const auto continues = [&](int t) {
      return !views_[t]->present || strides_[t][rank_ - 1] == lines * spans[t];
    };
    while (rank_ > 0 && (dims_[rank_ - 1] == 1 || (continues(kNumbers) && continues(kCodes) &&
                                                   continues(kScales) && continues(kRowScales))))
      lines *= dims_[--rank_];
    whole_.n *= lines;
  }

  template <class Run>
  void for_each_row(const Rows<kTensors>& others, int64_t bytes, Run run) const {
    const int64_t segment = std::max<int64_t>(kSegment / pair_, 1) * pair_;
    const int64_t count = others.count() * others.segments_of(whole_.n, segment);
    parallel_for(count, bytes, [&](int64_t begin, int64_t end) {
      others.for_each_segment(
          begin, end, whole_.n, segment,
          [&](const int64_t(&offsets)[kTensors], int64_t rows, int64_t first, int64_t last) {
            MxPart part = part_at(offsets, 0, first);
            part.rows = rows;
            part.n = last - first;
            part.numbers.row_stride = others.inner_stride(kNumbers);
            part.codes.row_stride = others.inner_stride(kCodes);
            part.scales.row_stride = others.inner_stride(kScales);
            run(part);
          });
    });
  }

  template <class Run>
  void for_each_matrix(const Rows<kTensors>& matrices, int64_t bytes, Run run) const {
    // All but the first begin at a cache line of what is streamed; those of tiles, at a tile.
    const int64_t head = worth_streaming(bytes) && !whole_.in_tiles ? elements_to_line() : 0;
    const int64_t across = parts_of(std::max<int64_t>(whole_.n - head, 1), kColumns);
    const int64_t of_pair = pair_ * std::min(whole_.n, kColumns);
    const int64_t height = std::max<int64_t>(kSegment / of_pair, 1) * pair_;
    const int64_t parts = across * parts_of(whole_.rows, height);
    parallel_for(matrices.count() * parts, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        matrices.for_each_run(
            part / parts, part / parts + 1, [&](const int64_t(&offsets)[kTensors], int64_t) {
              const int64_t row = part % parts / across * height, strip = part % across;
              const int64_t first = strip > 0 ? head + strip * kColumns : 0;
              const int64_t last = std::min(whole_.n, head + (strip + 1) * kColumns);
              MxPart of_matrix = part_at(offsets, row, first);
              of_matrix.rows = std::min(whole_.rows - row, height);
              of_matrix.n = last - first;
              run(of_matrix);
            });
    });
  }

  // Of the results, in whole bytes of codes.
  int64_t elements_to_line() const {
    const char* const data = gives_codes_ ? whole_.codes.data : whole_.numbers.data;
    const auto bytes = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(data) % 64);
    if (gives_codes_) return bytes * packed_;
    return bytes / size_of(views_[kNumbers]->dtype) / packed_ * packed_;
  }

  // From an element on.
  MxPart part_at(const int64_t (&offsets)[kTensors], int64_t row, int64_t i) const {
    MxPart part = whole_;
    part.numbers = moved(whole_.numbers.from(row, i), offsets[kNumbers]);
    part.codes = moved(whole_.codes.from(row, i / packed_), offsets[kCodes]);
    part.scales = moved(
        whole_.is_in_rows ? whole_.scales.from(0, i / pair_) : whole_.scales.from(i, row / pair_),
        offsets[kScales]);
    part.row_scales = moved(whole_.row_scales.from(row, i / pair_), offsets[kRowScales]);
    return part;
  }
  template <class Place>
  static Place moved(Place place, int64_t offset) {
    if (place.data != nullptr) place.data += offset;
    return place;
  }

  MxPart whole_;
  const bool gives_codes_;
  const int64_t pair_, packed_;
  const int last_;
  const TensorView* views_[kTensors];
  int rank_ = 0;
  int64_t dims_[kMaxRank], strides_[kTensors][kMaxRank];
};

}  // namespace npu_quant
