// The loops of the elementwise operators: rows of any strides, piece by piece, tile by tile.
#pragma once

#include "core/strided.h"
#include "kernels/store.h"
#include "simd/elements.h"
#include "simd/float_environment.h"
#include "simd/gather.h"

namespace npu_quant {
namespace {

// What is not contiguous passes through buffers of so many elements: of one row, or of kRowsAtOnce.
inline constexpr int64_t kPiece = 2048;

// Rows that share their parameters are done so many together, in pieces of so many elements, for
// which the parameters are then in the first-level cache.
inline constexpr int64_t kRowsTogether = 8, kElementsTogether = 512;

template <int bytes>
struct UnsignedType;
template <>
struct UnsignedType<1> {
  using type = uint8_t;
};
template <>
struct UnsignedType<2> {
  using type = uint16_t;
};
template <>
struct UnsignedType<4> {
  using type = uint32_t;
};

// Not inlined: every loop would hold one for each tensor.
template <class T>
__attribute__((noinline)) void gather_piece(const Strided& x, int64_t rows, int64_t count, T* to,
                                            int64_t width) {
  gather(x.data, x.row_stride, x.stride, rows, count, to, width);
}
template <class T>
__attribute__((noinline)) void put_piece(const T* from, int64_t count, const Strided& y) {
  if (y.stride == sizeof(T))
    stream_bytes(reinterpret_cast<const uint8_t*>(from), count * static_cast<int64_t>(sizeof(T)),
                 reinterpret_cast<uint8_t*>(y.data));
  else
    scatter(from, count, y.data, y.stride);
}

// A tensor that is read: where it lies, or a copy of a piece.
template <class T>
class Input {
 public:
  explicit Input(const Strided& x) : x_(x) {}

  bool is_direct() const { return x_.data == nullptr || x_.stride == sizeof(T); }
  bool shares_lines() const { return !is_direct() && rows_share_lines(x_.row_stride, x_.stride); }

  // Elements [i, i + count) of some rows, as rows of `width`.
  NPU_QUANT_INLINE void fetch(int64_t row, int64_t rows, int64_t i, int64_t count, int64_t width) {
    if (is_direct()) return;
    gather_piece(x_.from(row, i), rows, count, reinterpret_cast<Bits*>(buffer_), width);
    fetched_row_ = row;
    width_ = width;
  }
  NPU_QUANT_INLINE const T* at(int64_t row, int64_t i) const {
    if (!is_direct()) return buffer_ + (row - fetched_row_) * width_;
    return reinterpret_cast<const T*>(x_.from(row, i).data);
  }

 private:
  using Bits = typename UnsignedType<sizeof(T)>::type;
  Strided x_;
  int64_t fetched_row_ = 0, width_ = 0;
  alignas(64) T buffer_[kPiece];
};

// A tensor that is written, null where it is not wanted: in place, or by way of a buffer, from
// which it is scattered or streamed.
template <class T>
class Output {
 public:
  Output(const Strided& y, bool stream) : y_(y), stream_(stream) {}

  bool is_direct() const { return y_.data != nullptr && y_.stride == sizeof(T) && !stream_; }
  NPU_QUANT_INLINE T* at(int64_t row, int64_t i) {
    return is_direct() ? reinterpret_cast<T*>(y_.from(row, i).data) : buffer_;
  }
  NPU_QUANT_INLINE void finish(int64_t row, int64_t i, int64_t count) {
    if (is_direct() || y_.data == nullptr) return;
    put_piece(reinterpret_cast<const Bits*>(buffer_), count, y_.from(row, i));
  }

 private:
  using Bits = typename UnsignedType<sizeof(T)>::type;
  Strided y_;
  bool stream_;
  alignas(64) T buffer_[kPiece];
};

// The tensors of a call: x and y of the op's element types, and a mask that some ops read and some
// write.
struct ElementwiseArgs {
  int64_t rows, n;
  Strided x, read_mask;
  Strided y, written_mask;
  bool stream;  // outputs are to bypass the caches
};

// A contiguous part of a row.
template <class X, class Y>
struct Piece {
  const X* x;
  const X* next;  // what to ask memory for meanwhile
  const uint8_t* read_mask;
  Y* y;
  uint8_t* written_mask;
  int64_t n;
};

// Some float32 parameters that are the same for a whole row: parameter(which, part) is one in every
// lane, reciprocal(part) is fl(1 / the first).
template <int count>
struct PerRow {
  F32 value[count], inverse;

  struct Buffer {};
  NPU_QUANT_INLINE F32 operator()(int which, int) const { return value[which]; }
  NPU_QUANT_INLINE F32 reciprocal(int) const { return inverse; }
  NPU_QUANT_INLINE PerRow from(int64_t) const { return *this; }
  NPU_QUANT_INLINE PerRow padded(int64_t, Buffer&) const { return *this; }
};

// No parameters.
template <>
struct PerRow<0> {
  struct Buffer {};
  NPU_QUANT_INLINE PerRow from(int64_t) const { return *this; }
  NPU_QUANT_INLINE PerRow padded(int64_t, Buffer&) const { return *this; }
};

// The same with values of their own for every element of a piece.
template <int count>
struct PerElement {
  const Unaligned<float>* value[count];
  const Unaligned<float>* inverse;

  struct Buffer {
    float value[count][kTile], inverse[kTile];
  };
  NPU_QUANT_INLINE F32 operator()(int which, int part) const {
    return load<F32>(value[which] + part * kLanes);
  }
  NPU_QUANT_INLINE F32 reciprocal(int part) const { return load<F32>(inverse + part * kLanes); }
  NPU_QUANT_INLINE PerElement from(int64_t i) const {
    PerElement moved = *this;
    for (int which = 0; which < count; ++which) moved.value[which] += i;
    moved.inverse += i;
    return moved;
  }
  // The first n values, with ones up to a whole tile.
  NPU_QUANT_INLINE PerElement padded(int64_t n, Buffer& buffer) const {
    PerElement moved;
    for (int which = 0; which < count; ++which) {
      for (int64_t i = 0; i < kTile; ++i)
        buffer.value[which][i] = i < n ? value[which][i].value : 1;
      moved.value[which] = unaligned(buffer.value[which]);
    }
    for (int64_t i = 0; i < kTile; ++i) buffer.inverse[i] = i < n ? inverse[i].value : 1;
    moved.inverse = unaligned(buffer.inverse);
    return moved;
  }
};

// Elements [i, i + count) of a piece, fewer than a tile: from a tile that holds them, or, where the
// piece is shorter, from padded copies. Not inlined: there is one in every loop's head and end.
template <class Rule, class Parameters, class X, class Y>
__attribute__((noinline)) void map_part(Rule rule, Parameters parameters, Piece<X, Y> piece,
                                        int64_t i, int64_t count) {
  alignas(64) Y y[kTile];
  alignas(64) uint8_t written_mask[kTile];
  const int64_t first = least(i, piece.n - kTile);
  if (first >= 0) {
    const uint8_t* mask = Rule::kReadsMask ? piece.read_mask + first : nullptr;
    rule.template map<KeepInCache>(
        parameters.from(first),
        Piece<X, Y>{piece.x + first, nullptr, mask, y, written_mask, kTile});
  } else {
    alignas(64) X x[kTile] = {};
    alignas(64) uint8_t read_mask[kTile] = {};
    typename Parameters::Buffer buffer;
    std::memcpy(x, piece.x + i, static_cast<size_t>(count) * sizeof(X));
    if constexpr (Rule::kReadsMask)
      std::memcpy(read_mask, piece.read_mask + i, static_cast<size_t>(count));
    rule.template map<KeepInCache>(parameters.from(i).padded(count, buffer),
                                   Piece<X, Y>{x, nullptr, read_mask, y, written_mask, kTile});
  }
  const int64_t skipped = first >= 0 ? i - first : 0;
  std::memcpy(piece.y + i, y + skipped, static_cast<size_t>(count) * sizeof(Y));
  if constexpr (Rule::kWritesMask)
    std::memcpy(piece.written_mask + i, written_mask + skipped, static_cast<size_t>(count));
}

// A whole tile, from element i on.
template <class Store, class Rule, class Parameters, class X, class Y>
NPU_QUANT_INLINE void map_tile(const Rule& rule, const Parameters& parameters,
                               const Piece<X, Y>& piece, int64_t i) {
  rule.template map<Store>(
      parameters.from(i),
      Piece<X, Y>{piece.x + i, nullptr, Rule::kReadsMask ? piece.read_mask + i : nullptr,
                  piece.y + i, Rule::kWritesMask ? piece.written_mask + i : nullptr, kTile});
}

// A rule's map<Store>(parameters, tile) computes one tile of a piece. The mask it writes is
// streamed, if at all, from a buffer.
template <class Store, class Rule, class Parameters, class X, class Y>
__attribute__((noinline)) void map_piece(Rule rule, Parameters parameters, Piece<X, Y> piece) {
  constexpr int64_t kPerLine = 64 / static_cast<int64_t>(sizeof(X));
  const int64_t n = piece.n;
  int64_t i = Store::kStreams ? elements_to_alignment(piece.y, n) : 0;
  if (i > 0) map_part(rule, parameters, piece, 0, i);
  for (; i + kTile <= n; i += kTile) {
    if constexpr (Store::kStreams)
      for (int64_t line = 0; line < kTile; line += kPerLine) prefetch(piece.next + i + line);
    map_tile<Store>(rule, parameters, piece, i);
  }
  // The end is part of a tile before it that is done once more, which changes nothing; but a plain
  // store into a line that was just streamed would fetch it back.
  if (i == n) return;
  if (n >= kTile && !Store::kStreams)
    map_tile<KeepInCache>(rule, parameters, piece, n - kTile);
  else
    map_part(rule, parameters, piece, i, n - i);
}

// How rows are cut: so many of them are done together, in pieces of `width` elements.
struct Cut {
  bool stream;  // y, from where it is computed
  int64_t rows, width;
};

template <class X, class Y>
NPU_QUANT_INLINE Cut cut(const ElementwiseArgs& args, bool rows_share_parameters, const Input<X>& x,
                         const Input<uint8_t>& read_mask, const Output<Y>& y,
                         const Output<uint8_t>& written_mask) {
  constexpr int64_t kItem = sizeof(Y);
  const bool stream = args.stream && y.is_direct() && args.y.row_stride % kItem == 0 &&
                      reinterpret_cast<uintptr_t>(args.y.data) % kItem == 0;
  const bool direct = x.is_direct() && read_mask.is_direct() && y.is_direct() &&
                      (args.written_mask.data == nullptr || written_mask.is_direct());
  const bool gathers = x.shares_lines() || read_mask.shares_lines();
  const int64_t rows = gathers ? kRowsAtOnce : rows_share_parameters ? kRowsTogether : 1;
  const int64_t width = !x.is_direct() || !read_mask.is_direct() ? kPiece / rows
                        : rows_share_parameters                  ? kElementsTogether
                        : direct                                 ? args.n
                                                                 : kPiece;
  return {stream, rows, width};
}

// All of it, piece by piece. visit(row, first, count, use) calls use(rule, parameters) for what is
// computed from elements [first, first + count) of a row, or, where rows share their parameters, of
// that row and the ones after it.
template <class X, class Y, class Visit>
NPU_QUANT_INLINE void map_rows(const ElementwiseArgs& args, bool rows_share_parameters,
                               Visit visit) {
  constexpr int64_t kAhead = 6 * 1024 / static_cast<int64_t>(sizeof(X));
  Input<X> x(args.x);
  Input<uint8_t> read_mask(args.read_mask);
  Output<Y> y(args.y, false);
  Output<uint8_t> written_mask(args.written_mask, args.stream);
  const Cut how = cut<X, Y>(args, rows_share_parameters, x, read_mask, y, written_mask);
  const bool stream = how.stream;
  const int64_t step = how.rows, width = how.width;
  for (int64_t row = 0; row < args.rows; row += step) {
    const int64_t rows = least(args.rows - row, step);
    // Where y is streamed, all pieces but the first begin at a vector of it.
    const int64_t head = stream ? elements_to_alignment(y.at(row, 0), kTile) : 0;
    int64_t count = head > 0 && width < args.n ? width - kTile + head : width;
    for (int64_t i = 0; i < args.n; i += count, count = width) {
      count = least(args.n - i, count);
      x.fetch(row, rows, i, count, width);
      read_mask.fetch(row, rows, i, count, width);
      const int64_t shared = rows_share_parameters ? rows : 1;
      for (int64_t first = row; first < row + rows; first += shared)
        visit(first, i, count, [&](const auto& rule, const auto& parameters) {
          for (int64_t r = first; r < first + shared; ++r) {
            const bool is_last = r + step >= args.rows;
            const X* const from = x.at(r, i);
            const X* const next = !rows_share_parameters      ? from + kAhead
                                  : x.is_direct() && !is_last ? x.at(r + step, i)
                                                              : from;
            const Piece<X, Y> piece{
                from, next, read_mask.at(r, i), y.at(r, i), written_mask.at(r, i), count};
            if (stream)
              map_piece<StreamToMemory>(rule, parameters, piece);
            else
              map_piece<KeepInCache>(rule, parameters, piece);
            y.finish(r, i, count);
            written_mask.finish(r, i, count);
          }
        });
    }
  }
  if (args.stream) stream_fence();
}

// A float32 parameter of a row, or its values from an element on.
NPU_QUANT_INLINE float value_at(const Strided& parameter, int64_t row) {
  float value;
  std::memcpy(&value, parameter.from(row, 0).data, sizeof value);
  return value;
}
NPU_QUANT_INLINE const Unaligned<float>* values_at(const Strided& parameter, int64_t row,
                                                   int64_t i) {
  return reinterpret_cast<const Unaligned<float>*>(parameter.from(row, i).data);
}

}  // namespace
}  // namespace npu_quant
