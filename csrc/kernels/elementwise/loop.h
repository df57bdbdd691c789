// The loops of the elementwise operators. A formula computes a tile; one loop does the tiles of a
// piece; map_rows() deals pieces of rows of any strides to it.
#pragma once

#include "kernels/elementwise/args.h"
#include "kernels/elementwise/tile.h"
#include "kernels/rows/strips.h"
#include "simd/codes.h"

namespace npu_quant {
namespace {

// Rows that share the parameters of their elements are done 8 together, in pieces of 512 elements,
// whose parameters (6 KiB) are then in L1. Short rows are joined to as many elements.
inline constexpr int64_t kRowsTogether = 8, kJoinedElements = 512;

// A formula has X and Y, the types it reads and writes, kParameters, how many it goes by, and
// map(parameters, tile), which computes one tile. It may have kOfRow: a bit for each parameter that
// is mostly one for a row, beside all others that are of each element.
template <class Formula>
inline constexpr unsigned kOfRow = 0;
template <class Formula>
  requires(Formula::kOfRow != 0)
inline constexpr unsigned kOfRow<Formula> = Formula::kOfRow;

// The last tile reaches back over the one before it: with tiles of 64, 150 elements are done as
// [0, 64), [64, 128) and [86, 150). What is done twice does not change. [begin, end) is a tile or
// more; where y is streamed, it is aligned at `begin`, and they are whole tiles.
template <class Formula, bool per_element, unsigned of_row = 0>
__attribute__((noinline)) void map_tiles(const void* formula_of_call, const Piece& piece_of_call,
                                         int64_t begin, int64_t end, bool stream) {
  using X = typename Formula::X::Storage;
  constexpr int64_t kPerLine = 64 / static_cast<int64_t>(sizeof(X));
  const Formula formula = *static_cast<const Formula*>(formula_of_call);
  const Piece piece = piece_of_call;
  const Parameters<per_element, Formula::kParameters, of_row> parameters(piece);
  const auto next = reinterpret_cast<uintptr_t>(piece.next);
  const int64_t last = end - kTile;
  // Where x may be in cache and is most of what is read, all tiles but the first begin at a cache
  // line of it.
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(piece.x) / sizeof(X));
  const int64_t past_line = stream || per_element ? 0 : (address + begin) % least(kPerLine, kTile);
  for (int64_t i = begin, after = i + kTile - past_line; i < end; i = after, after += kTile) {
    const int64_t at = least(i, last);
    if (next != 0)
      for (int64_t line = i; line < i + kTile; line += kPerLine)
        prefetch(next + static_cast<uintptr_t>(line) * sizeof(X));
    formula.map(parameters.from(at),
                TileAt<X, typename Formula::Y::Storage>{piece, at, Stores{stream}});
  }
}

// A formula, and what has to be known of it to deal pieces to it: what follows goes by this, and is
// compiled once for all formulas.
struct Job {
  using MapTiles = void (*)(const void* formula, const Piece& piece, int64_t begin, int64_t end,
                            bool stream);
  // All parameters are one for a row; each element has its own; or but for some.
  MapTiles map_tiles[3];
  unsigned of_row;  // which these are
  const void* formula;
  int64_t x_item, y_item;
  int parameters;

  template <class Formula>
  explicit Job(const Formula& of)
      : map_tiles{&npu_quant::map_tiles<Formula, false>,
                  &npu_quant::map_tiles<Formula, (Formula::kParameters > 0)>,
                  &npu_quant::map_tiles<Formula, (Formula::kParameters > 0), kOfRow<Formula>>},
        of_row(kOfRow<Formula>),
        formula(&of),
        x_item(sizeof(typename Formula::X::Storage)),
        y_item(sizeof(typename Formula::Y::Storage)),
        parameters(Formula::kParameters) {}
};

class Mapping {
 public:
  Mapping(const ElementwiseArgs& args, const Job& job, bool large)
      : args_(args),
        job_(job),
        large_(large),
        x_(args.x, job.x_item, buffers_[0]),
        read_mask_(args.read_mask, 1, buffers_[1]),
        y_(args.y, job.y_item, buffers_[2], args.stream),
        written_mask_(args.written_mask, 1, buffers_[3], args.stream, true) {
    y_.take_rows(args.y_rows);
    for (int w = 0; w < job.parameters; ++w) {
      per_element_ |= args.parameters[w].stride != 0;
      per_row_ |= args.parameters[w].row_stride != 0;
      const bool is_of_row = job.of_row >> w & 1;
      if (is_of_row == (args.parameters[w].stride != 0)) of_row_ = 0;
    }
  }

  void run() {
    if (args_.n < kTile && args_.rows > 1)
      map_joined_rows();
    else
      map_rows();
    put_ends();
    if (args_.stream) stream_fence();
  }

 private:
  // Some rows together, in pieces of `width`:
  //
  //          i       i + width
  //   row    |-------|--------|--     all rows of a column of pieces before the next column, since
  //   row+1  |-------|--------|--     they share the parameters of their elements, or the cache
  //   ...    |-------|--------|--     lines of a transposed array
  void map_rows() {
    const bool direct = x_.is_direct() && read_mask_.is_direct() && y_.is_direct() &&
                        (written_mask_.is_direct() || !written_mask_.is_wanted());
    int64_t rows = 0;
    for (int64_t row = 0; row < args_.rows; row += rows) {
      const int64_t read = most(x_.rows_together(), read_mask_.rows_together());
      const int64_t item = most(x_.is_direct() ? 1 : job_.x_item, y_.is_direct() ? 1 : job_.y_item);
      const int64_t together = least(read, kBufferBytes / (2 * kTile * item));
      const int64_t buffered = kBufferBytes / (together * item) - kTile;
      const int64_t fitting = kBufferBytes / ((kJoinedElements + kTile) * item);
      const int64_t in_turn = shares_columns() ? least(kRowsTogether, fitting) : 1;
      rows = least(args_.rows - row, together == 1 ? in_turn : together);
      map_columns(row, rows,
                  together > 1       ? least(buffered, kJoinedElements)
                  : shares_columns() ? kJoinedElements
                  : direct           ? args_.n
                                     : kPiece);
    }
  }

  void map_columns(int64_t row, int64_t rows, int64_t width) {
    const bool stream = y_.takes_streams();
    // Where y is streamed, all pieces but the first begin at a vector of it, or near one.
    int64_t head = stream ? elements_to_alignment(y_.at(row, 0), job_.y_item, kTile) : 0;
    if (args_.x.packed()) head -= head % kPackedCodes;
    const int64_t pitch = width + kTile;  // of rows in a buffer
    int64_t count = width + head;
    for (int64_t i = 0; i < args_.n; i += count, count = width) {
      count = least(args_.n - i, count);
      x_.fetch(row, rows, i, count, pitch);
      read_mask_.fetch(row, rows, i, count, pitch);
      take_parameters(row, i, count, per_element_ && rows > 1);
      for (int64_t r = 0; r < rows; ++r) {
        if (r > 0 && per_row_) take_parameters_of_row(row + r, i, count);
        take_piece(row + r, i, count);
        piece_.next = large_ ? next_of(row + r, rows, i) : nullptr;
        map_piece(stream);
        put(row + r, i, count, 1, count);
      }
    }
  }

  // Rows shorter than a tile, as many at a time as kJoinedElements holds.
  void map_joined_rows() {
    const int64_t n = args_.n, together = kJoinedElements / n;
    per_element_ = job_.parameters > 0;
    of_row_ = 0;
    x_.join(n);
    read_mask_.join(n);
    y_.join(n);
    written_mask_.join(n);
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together);
      x_.fetch(row, rows, 0, n, n);
      read_mask_.fetch(row, rows, 0, n, n);
      for (int w = 0; w < job_.parameters; ++w)
        if (row == 0 || args_.parameters[w].row_stride != 0) join_parameter(w, row, rows);
      take_piece(row, 0, rows * n);
      map_piece(false);
      put(row, 0, n, rows, n);
    }
  }

  void put(int64_t row, int64_t i, int64_t count, int64_t rows, int64_t width) {
    y_.put(row, i, count, rows, width);
    written_mask_.put(row, i, count, rows, width);
  }

  // Every field is set by itself: to copy what was just stored in other pieces waits for all
  // streaming stores before.
  void take_piece(int64_t row, int64_t i, int64_t n) {
    piece_.x = x_.at(row, i);
    piece_.y = y_.at(row, i);
    piece_.read_mask = reinterpret_cast<const uint8_t*>(read_mask_.at(row, i));
    if (written_mask_.is_wanted())
      piece_.written_mask = reinterpret_cast<uint8_t*>(written_mask_.at(row, i));
    piece_.n = n;
  }

  // What is needed 6 KiB later, or next in this column of pieces.
  const char* next_of(int64_t row, int64_t rows, int64_t i) const {
    constexpr int64_t kAhead = 6 << 10;
    if (!shares_columns()) return x_.at(row, i) + kAhead;
    return x_.at(x_.is_direct() && row + rows < args_.rows ? row + rows : row, i);
  }

  // The parameters of a row, or of some of its elements. One beside others that are of each element
  // is copied for all. Those that several rows share are moved to where no vector of them straddles
  // two cache lines: that is what limits those rows.
  void take_parameters(int64_t row, int64_t i, int64_t count, bool are_shared) {
    for (int w = 0; w < job_.parameters; ++w) take_parameter(w, row, i, count, are_shared);
  }
  // Those alone that the rows done together do not share.
  void take_parameters_of_row(int64_t row, int64_t i, int64_t count) {
    for (int w = 0; w < job_.parameters; ++w)
      if (args_.parameters[w].row_stride != 0) take_parameter(w, row, i, count, false);
  }
  void take_parameter(int w, int64_t row, int64_t i, int64_t count, bool are_shared) {
    const auto* values = parameter_at(args_.parameters[w], row, i);
    if (is_per_element(w) && args_.parameters[w].stride == 0) {
      for (int64_t k = 0; k < count; ++k) copies_[w][k] = values->value;
      values = unaligned(copies_[w]);
    } else if (are_shared && is_per_element(w) && !is_vector_aligned(values)) {
      std::memcpy(copies_[w], values, static_cast<size_t>(count) * sizeof(float));
      values = unaligned(copies_[w]);
    }
    piece_.parameters[w] = values;
  }
  // Whether some rows go by the parameters of their elements in turn. Beside parameters of rows
  // there are fewer of these: from memory it is faster then to go row by row (1.4x).
  bool shares_columns() const { return per_element_ && !(large_ && of_row_ != 0); }
  bool is_per_element(int w) const { return per_element_ && (of_row_ >> w & 1) == 0; }
  void join_parameter(int w, int64_t row, int64_t rows) {
    join_parameters(args_.parameters[w], row, rows, args_.n, copies_[w]);
    piece_.parameters[w] = unaligned(copies_[w]);
  }

  // The piece, of any length. A streamed one is whole tiles from its first aligned vector on, and
  // what is left at both ends.
  void map_piece(bool stream) {
    const int64_t n = piece_.n;
    if (n < kTile) return map_end(0, n);
    if (!stream) return map_tiles(piece_, 0, n, false);
    const int64_t head = elements_to_alignment(piece_.y, job_.y_item, n);
    const int64_t end = head + (n - head) / kTile * kTile;
    if (head > 0) map_end(0, head);
    if (end > head) map_tiles(piece_, head, end, true);
    if (n > end) map_end(end, n - end);
  }

  void map_tiles(const Piece& piece, int64_t begin, int64_t end, bool stream) {
    const int form = !per_element_ ? 0 : of_row_ == 0 ? 1 : 2;
    job_.map_tiles[form](job_.formula, piece, begin, end, stream);
  }

  // Elements [i, i + count) of the piece, fewer than a tile: from a tile that holds them, or, where
  // the piece is shorter than one, from padded copies.
  void map_end(int64_t i, int64_t count) {
    if (ends_ == kMostEnds) put_ends();
    End& end = end_[ends_++];
    Padded padded;
    const int64_t first = piece_.n < kTile ? 0 : least(i, piece_.n - kTile);
    Piece tile{};
    tile.x = piece_.x + first * job_.x_item;
    tile.y = end.y;
    if (piece_.read_mask != nullptr) tile.read_mask = piece_.read_mask + first;
    if (piece_.written_mask != nullptr) tile.written_mask = end.written_mask;
    for (int w = 0; w < job_.parameters; ++w)
      tile.parameters[w] = piece_.parameters[w] + (is_per_element(w) ? first : 0);
    if (piece_.n < kTile) pad(tile, piece_.n, padded);
    map_tiles(tile, 0, kTile, false);
    end.to = piece_.y + i * job_.y_item;
    end.mask_to = piece_.written_mask != nullptr ? piece_.written_mask + i : nullptr;
    end.first = i - first;
    end.count = count;
    if (!y_.is_direct() || piece_.written_mask != nullptr || piece_.n < kTile) put_ends();
  }

  // Results of a tile of which some go to an end of a streamed row. They go there a little later:
  // to read at once what was just stored would wait for all streaming stores before it.
  struct End {
    alignas(64) char y[kTile * 8];
    alignas(64) uint8_t written_mask[kTile];
    char* to;
    uint8_t* mask_to;
    int64_t first, count;
  };
  static constexpr int kMostEnds = 16;

  void put_ends() {
    for (int e = 0; e < ends_; ++e) {
      const End& end = end_[e];
      std::memcpy(end.to, end.y + end.first * job_.y_item,
                  static_cast<size_t>(end.count * job_.y_item));
      if (end.mask_to != nullptr)
        std::memcpy(end.mask_to, end.written_mask + end.first, static_cast<size_t>(end.count));
    }
    ends_ = 0;
  }

  struct Padded {
    alignas(64) char x[kTile * 4];
    alignas(64) uint8_t read_mask[kTile];
    alignas(64) float parameters[kMostParameters][kTile];
  };
  // The first n elements of a tile, with zeros after them, and the first parameter after theirs.
  void pad(Piece& tile, int64_t n, Padded& padded) const {
    const auto bytes = static_cast<size_t>(n * job_.x_item);
    std::memset(padded.x, 0, sizeof padded.x);
    std::memcpy(padded.x, tile.x, bytes);
    tile.x = padded.x;
    if (tile.read_mask != nullptr) {
      std::memset(padded.read_mask, 0, sizeof padded.read_mask);
      std::memcpy(padded.read_mask, tile.read_mask, static_cast<size_t>(n));
      tile.read_mask = padded.read_mask;
    }
    for (int w = 0; w < job_.parameters; ++w) {
      if (!is_per_element(w)) continue;
      std::memcpy(padded.parameters[w], tile.parameters[w], static_cast<size_t>(n) * sizeof(float));
      for (int64_t i = n; i < kTile; ++i) padded.parameters[w][i] = padded.parameters[w][0];
      tile.parameters[w] = unaligned(padded.parameters[w]);
    }
  }

  const ElementwiseArgs& args_;
  const Job& job_;
  const bool large_;                            // memory is to be asked for x ahead of time
  bool per_element_ = false, per_row_ = false;  // whether any parameter is
  unsigned of_row_ = job_.of_row;               // the formula's, or 0 where they are not so
  Source x_, read_mask_;
  Sink y_, written_mask_;
  Piece piece_{};
  int ends_ = 0;
  End end_[kMostEnds];
  alignas(64) float copies_[kMostParameters][kJoinedElements + kTile];
  Buffer<> buffers_[4];
};

// Not inlined: its buffers would be on the stack once for each formula.
__attribute__((noinline)) void map_direct_rows(const ElementwiseArgs& args, const Job& job,
                                               bool large) {
  Mapping(args, job, large).run();
}

__attribute__((noinline)) void map_transposed_rows(const ElementwiseArgs& args, const Job& job) {
  Strips<2> strips(args.rows, args.n, kStripColumns, {args.y, args.written_mask}, {job.y_item, 1});
  if (!strips.has_memory()) return map_direct_rows(args, job, args.stream);
  strips.run(args.stream, [&](int64_t row, int64_t rows, int64_t i, int64_t n, const Strided* y) {
    ElementwiseArgs part = args;
    part.rows = rows;
    part.n = n;
    part.x = args.x.from(row, i);
    part.y = y[0];
    part.read_mask = args.read_mask.from(row, i);
    part.written_mask = y[1];
    part.stream = false;
    for (int w = 0; w < job.parameters; ++w) part.parameters[w] = args.parameters[w].from(row, i);
    map_direct_rows(part, job, args.stream);
  });
}

void map_rows(const ElementwiseArgs& args, const Job& job) {
  const bool transposes = is_transposed(args.y) || is_transposed(args.written_mask);
  if (transposes && (args.n >= kTile || args.rows == 1))
    map_transposed_rows(args, job);
  else
    map_direct_rows(args, job, args.stream);
}

template <class Formula>
NPU_QUANT_INLINE void map_rows(const ElementwiseArgs& args, const Formula& formula) {
  map_rows(args, Job(formula));
}

}  // namespace
}  // namespace npu_quant
