// Where a kernel's tensors come from and go to: pieces of rows, wherever their elements lie.
//
//   source: elements of rows  ->  a piece of them, contiguous     direct, or gathered into a buffer
//   sink:   a piece of results ->  elements of rows               direct, or from a buffer
//
// Packed codes are bytes in a piece, a code each, and always pass through a buffer.
//
// A piece is `rows` x `count` elements, its rows `width` elements apart in a buffer. kPiece = 2048
// elements, so that the pieces of x and y and their parameters stay in 32 KiB of L1; where rows
// that are read are neighbours in memory (a transposed array), 64 bytes of them pass together, in
// pieces of 16 KiB. Rows that are written so come by way of strips.h. All buffers of a kernel fit a
// thread's stack of 128 KiB.
#pragma once

#include "core/ceil_div.h"
#include "core/strided.h"
#include "kernels/rows/nibbles.h"
#include "kernels/rows/scatter.h"
#include "simd/float_environment.h"
#include "simd/gather.h"

namespace npu_quant {

// scatter.cpp may come later in what is compiled as one file.
template <>
void ScatterKernel::run<kTarget>(const Args& args);

namespace {

inline constexpr int64_t kPiece = 2048;
inline constexpr int64_t kBufferBytes = 16 << 10;

// What a source or a sink needs where its tensor is not contiguous. Apart from it, so that small
// calls touch few pages of the stack.
template <int64_t size = kBufferBytes>
struct Buffer {
  alignas(64) char bytes[size];
};

NPU_QUANT_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
NPU_QUANT_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

NPU_QUANT_INLINE void store_tile(float* to, const Tile& v) {
  for (int p = 0; p < 4; ++p) store(to + p * kLanes, v.part[p]);
}

// The first n values, with zeros up to a whole tile, or as many as there are.
template <class T, int64_t size = kTile>
struct Padded {
  alignas(64) T values[size] = {};

  NPU_QUANT_INLINE Padded(const T* from, int64_t n) {
    std::memcpy(values, from, static_cast<size_t>(n) * sizeof(T));
  }
};

// Elements from y to the first address that a streaming store takes, at most n; y's elements must
// lie at multiples of their size.
NPU_QUANT_INLINE int64_t elements_to_alignment(const char* y, int64_t item, int64_t n) {
  const auto bytes = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(y) & (kVectorBytes - 1));
  return least(bytes / item, n);
}

// Asks for the cache lines of n values that lie `ahead` bytes behind x.
template <class T>
NPU_QUANT_INLINE void prefetch_values(CacheLevel level, const T* x, uintptr_t ahead, int64_t n) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(x) + ahead;
  for (uintptr_t byte = 0; byte < static_cast<uintptr_t>(n) * sizeof(T); byte += 64)
    prefetch_into(level, first + byte);
}

// What kernels take for granted of their own constants: where it does not hold, that is a fault in
// them, never in a caller's arrays.
NPU_QUANT_INLINE void trap_unless(bool holds) {
  if (!holds) __builtin_trap();
}
NPU_QUANT_INLINE void trap_unless_it_fits(int64_t rows, int64_t count, int64_t width, int64_t item,
                                          int64_t capacity) {
  trap_unless(((rows - 1) * width + count) * item <= capacity);
}

// Calls run(place, stride, n) for elements [i, i + count) of a row in runs along its last axis; a
// row of one axis is one run.
template <class Run>
NPU_QUANT_INLINE void for_each_run(const Strided& tensor, int64_t row, int64_t i, int64_t count,
                                   Run run) {
  const RowAxes* const axes = tensor.axes;
  if (axes == nullptr) return run(tensor.from(row, i).data, tensor.stride, count);
  const int last = axes->rank - 1;
  while (count > 0) {
    const int64_t n = least(axes->dims[last] - i % axes->dims[last], count);
    int64_t offset = row * tensor.row_stride, rest = i;
    for (int axis = last; axis >= 0; rest /= axes->dims[axis--])
      offset += rest % axes->dims[axis] * axes->strides[axis];
    run(tensor.data + offset, tensor.stride, n);
    i += n;
    count -= n;
  }
}

// What packed codes are moved in: the elements that they share, or bytes, where those follow on
// each other.
struct PackedItems {
  explicit PackedItems(const Strided& tensor)
      : size(tensor.stride == kPackedItem && tensor.axes == nullptr ? 1 : tensor.packed_item),
        codes(2 * size),
        stride(tensor.stride / (kPackedItem / size)) {}
  int64_t size, codes, stride;
};

// A tensor that is read.
class Source {
 public:
  template <int64_t size>
  Source(const Strided& x, int64_t item, Buffer<size>& buffer)
      : x_(x),
        item_(item),
        buffer_(buffer.bytes),
        capacity_(size),
        is_direct_(x.data == nullptr || (x.stride == item && x.axes == nullptr && !x.packed())) {}

  bool is_direct() const { return is_direct_; }
  // Several rows of n elements are to come one after the other: by way of the buffer unless they
  // lie so.
  void join(int64_t n) {
    is_direct_ = x_.data == nullptr || (is_direct_ && x_.row_stride == n * item_);
  }
  // How many rows are read together: those that share cache lines.
  int64_t rows_together() const {
    const bool share = !is_direct_ && rows_share_lines(x_.row_stride, x_.stride);
    return share && x_.axes == nullptr ? rows_at_once(item_) : 1;
  }

  // Elements [i, i + count) of some rows, as rows of `width`.
  NPU_QUANT_INLINE void fetch(int64_t row, int64_t rows, int64_t i, int64_t count, int64_t width) {
    if (!is_direct_) gather_piece(row, rows, i, count, width);
  }
  // Where element i of a row is, one of those that were fetched if they had to be.
  NPU_QUANT_INLINE const char* at(int64_t row, int64_t i) const {
    if (is_direct_) return x_.data == nullptr ? nullptr : x_.at(row, i);
    return buffer_ + ((row - row_) * width_ + i - i_) * item_;
  }

 private:
  __attribute__((noinline)) void gather_piece(int64_t row, int64_t rows, int64_t i, int64_t count,
                                              int64_t width) {
    trap_unless_it_fits(rows, count, width, item_, capacity_);
    row_ = row, i_ = i, width_ = width;
    if (x_.packed()) return unpack_piece(row, rows, i, count, width);
    visit_item(item_, [&](auto bits) {
      auto* const to = reinterpret_cast<decltype(bits)*>(buffer_);
      if (x_.axes == nullptr)
        return gather(x_.from(row, i).data, x_.row_stride, x_.stride, rows, count, to, width);
      for (int64_t r = 0; r < rows; ++r) {
        auto* next = to + r * width;
        for_each_run(x_, row + r, i, count, [&](const char* from, int64_t stride, int64_t n) {
          gather(from, 0, stride, 1, n, next, n);
          next += n;
        });
      }
    });
  }

  // The elements lie in the last of the buffer before their codes fill it.
  void unpack_piece(int64_t row, int64_t rows, int64_t i, int64_t count, int64_t width) {
    const int64_t codes = (rows - 1) * width + count;
    char* const nibbles = buffer_ + (capacity_ - codes / 2);
    const PackedItems items(x_);
    visit_item(items.size, [&](auto bits) {
      gather(x_.from(row, i).data, x_.row_stride, items.stride, rows, count / items.codes,
             reinterpret_cast<decltype(bits)*>(nibbles), width / items.codes);
    });
    unpack_nibbles(nibbles, codes, buffer_);
  }

  const Strided x_;
  const int64_t item_;
  char* const buffer_;
  const int64_t capacity_;
  bool is_direct_;
  int64_t row_ = 0, i_ = 0, width_ = 0;
};

// A tensor that is written, null where it is not wanted.
class Sink {
 public:
  // `streams`: past the caches. From a buffer only where results do not come as whole vectors, as
  // masks do not.
  template <int64_t size>
  Sink(const Strided& y, int64_t item, Buffer<size>& buffer, bool streams, bool by_buffer = false)
      : y_(y),
        item_(item),
        buffer_(buffer.bytes),
        capacity_(size),
        streams_(streams),
        is_direct_(y.data != nullptr && y.stride == item && y.axes == nullptr && !y.packed() &&
                   !(streams && by_buffer)) {}

  // Rows begin at these offsets, in bytes, instead of one row_stride apart.
  void take_rows(const int64_t* rows) {
    trap_unless(rows == nullptr || !y_.packed());
    rows_ = rows;
  }

  bool is_wanted() const { return y_.data != nullptr; }
  bool is_direct() const { return is_direct_; }
  void join(int64_t n) {
    is_direct_ = is_direct_ && rows_ == nullptr && y_.row_stride == n * item_;
  }

  // Whether vectors of results may be streamed to where they belong: all but the ends of a row.
  bool takes_streams() const {
    return streams_ && is_direct_ && y_.row_stride % item_ == 0 &&
           reinterpret_cast<uintptr_t>(y_.data) % static_cast<uintptr_t>(item_) == 0;
  }

  // Where results from element i of a row on go: to their place, or to the buffer, where they stay
  // if they are not wanted.
  NPU_QUANT_INLINE char* at(int64_t row, int64_t i) {
    return is_direct_ ? row_at(row).at(0, i) : buffer_;
  }
  // Has results [i, i + count) of some rows written that lie in the buffer.
  NPU_QUANT_INLINE void put(int64_t row, int64_t i, int64_t count, int64_t rows = 1,
                            int64_t width = 0) {
    if (!is_direct_ && is_wanted()) put_piece(row, i, count, rows, width);
  }

 private:
  __attribute__((noinline)) void put_piece(int64_t row, int64_t i, int64_t count, int64_t rows,
                                           int64_t width) const {
    trap_unless_it_fits(rows, count, width, item_, capacity_);
    if (!y_.packed()) return put_elements(y_, row, i, count, rows, width, item_);
    pack_nibbles(buffer_, (rows - 1) * width + count);
    const PackedItems items(y_);
    Strided elements = y_;
    elements.stride = items.stride;
    elements.packed_item = 0;
    put_elements(elements, row, i / items.codes, count / items.codes, rows, width / items.codes,
                 items.size);
  }

  void put_elements(const Strided& y, int64_t row, int64_t i, int64_t count, int64_t rows,
                    int64_t width, int64_t item) const {
    const auto write = [&](const char* from, int64_t n, int64_t lines, const Strided& to,
                           bool stream) {
      ScatterKernel::run<kTarget>({from, width, lines, n, item, to, stream});
    };
    if (y.axes == nullptr && rows_ == nullptr)
      return write(buffer_, count, rows, y.from(row, i), streams_);
    for (int64_t r = 0; r < rows; ++r) {
      const char* next = buffer_ + r * width * item;
      for_each_run(row_at(row + r), 0, i, count, [&](char* to, int64_t stride, int64_t n) {
        write(next, n, 1, {to, 0, stride}, false);
        next += n * item;
      });
    }
  }

  NPU_QUANT_INLINE Strided row_at(int64_t row) const {
    const int64_t offset = rows_ == nullptr ? row * y_.row_stride : rows_[row];
    return {y_.data + offset, 0, y_.stride, y_.axes};
  }

  const Strided y_;
  const int64_t item_;
  char* const buffer_;
  const int64_t capacity_;
  const bool streams_;
  const int64_t* rows_ = nullptr;
  bool is_direct_;
};

// A float32 parameter: one value for a row (stride 0), or one for each of its elements (stride 4).
NPU_QUANT_INLINE const Unaligned<float>* parameter_at(const Strided& parameter, int64_t row,
                                                      int64_t i) {
  return reinterpret_cast<const Unaligned<float>*>(parameter.at(row, i));
}

// Short rows are joined: k rows of n elements are one piece, and each of its elements has a
// parameter of its own. With n = 3 and a parameter a b c ... for each row: a a a b b b c c c; with
// one for each element: a b c a b c a b c.
__attribute__((noinline)) inline void join_parameters(const Strided& parameter, int64_t row,
                                                      int64_t rows, int64_t n, float* to) {
  for (int64_t r = 0; r < rows; ++r, to += n) {
    if (n < kLanes) {
      for (int64_t i = 0; i < n; ++i) to[i] = parameter_at(parameter, row + r, i)->value;
      continue;
    }
    for (int64_t i = 0; i < n; i += kLanes) {
      const int64_t at = least(i, n - kLanes);
      const auto* values = parameter_at(parameter, row + r, at);
      store(to + at, parameter.stride == 0 ? broadcast(values->value) : load<F32>(values));
    }
  }
}

// Not inlined, so that the buffers of only one kind of work are on the stack.
template <class Work, class Args>
__attribute__((noinline)) void run_apart(const Args& args) {
  Work(args).run();
}

}  // namespace
}  // namespace npu_quant
