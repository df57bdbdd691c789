// Outputs whose rows lie side by side in memory (transposed arrays). A strip of rows, 256 bytes
// across, is computed as if it were contiguous, into memory of its own; then its columns are
// written, whole cache lines of them:
//
//   y in memory   row 0  1  2 ... 255 | 256 ...        strip of int8 rows
//   element 0         .  .  .      .  |  .              0: [ element 0 1 2 ... n - 1 ]
//   element 1         .  .  .      .  |  .       <-     1: [ element 0 1 2 ... n - 1 ]
//   ...                                               255: [ element 0 1 2 ... n - 1 ]
#pragma once

#include "core/memory.h"
#include "kernels/rows/piece.h"

namespace npu_quant {
namespace {

// So many elements of a row at a time, where a kernel need not see all: a strip of them is 1 MiB.
// With fewer the CPU does not foresee what is read next.
inline constexpr int64_t kStripColumns = 4096;
// Rows that are still longer come in lower strips.
inline constexpr int64_t kMostStripBytes = 16 << 20;

NPU_QUANT_INLINE bool is_transposed(const Strided& y) {
  return y.data != nullptr && y.axes == nullptr && !y.packed() &&
         rows_share_lines(y.row_stride, y.stride);
}

// One output of a call, transposed or not.
class StripOutput {
 public:
  void set(const Strided& y, int64_t item, int64_t rows, int64_t most_elements) {
    y_ = y;
    if (!is_transposed(y)) return;
    item_ = item;
    pitch_ = (most_elements * item + 63) / 64 * 64 + 64;  // rows in different sets of L1
    most_rows_ = least(rows, most(1, least(kColumnBytes / item, kMostStripBytes / pitch_)));
  }
  int64_t bytes() const { return most_rows_ * pitch_; }
  void set_strip(char* strip) { strip_ = strip; }

  // A strip begins at element i of a row, and ends before row end(), or where all rows do. What is
  // not transposed has no end.
  void begin(int64_t row, int64_t i) {
    first_ = row;
    i_ = i;
    if (item_ > 0) end_ = row + rows_together(row);
  }
  int64_t end() const { return end_; }
  Strided at(int64_t row) const {
    if (item_ == 0) return y_.from(row, i_);
    return {strip_ + (row - first_) * pitch_, pitch_, item_};
  }
  // So many elements of all its rows before this one, with which it ends.
  void write(int64_t row, int64_t count, bool streams) const {
    if (item_ == 0) return;
    ScatterKernel::run<kTarget>(
        {strip_, pitch_ / item_, row - first_, count, item_, y_.from(first_, i_), streams});
  }

 private:
  // How many rows from this one on are a strip: up to the end of a cache line they share.
  int64_t rows_together(int64_t row) const {
    auto place = reinterpret_cast<uintptr_t>(y_.from(row, 0).data);
    if (y_.row_stride < 0) place = -(place + static_cast<uintptr_t>(item_));
    const int64_t head = static_cast<int64_t>(-place & 63) / item_;
    return head > 0 ? least(head, most_rows_) : most_rows_;
  }

  Strided y_;
  int64_t item_ = 0, pitch_ = 0, most_rows_ = 0;  // 0 where it is not transposed
  char* strip_ = nullptr;
  int64_t first_ = 0, i_ = 0, end_ = INT64_MAX;
};

// The outputs of a call, at most `most_elements` of a row at a time.
template <int outputs>
class Strips {
 public:
  Strips(int64_t rows, int64_t n, int64_t most_elements, const Strided (&y)[outputs],
         const int64_t (&items)[outputs])
      : rows_(rows), n_(n), width_(least(n, most_elements)) {
    int64_t bytes = 0;
    for (int o = 0; o < outputs; ++o) {
      of_[o].set(y[o], items[o], rows, width_);
      bytes += of_[o].bytes();
    }
    if (bytes > kBufferBytes)
      strips_ = large_ = static_cast<char*>(allocate_large(static_cast<size_t>(bytes)));
    if (strips_ == nullptr) return;
    bytes = 0;
    for (StripOutput& of : of_) {
      of.set_strip(strips_ + bytes);
      bytes += of.bytes();
    }
  }
  ~Strips() {
    if (large_ != nullptr) free_large(large_);
  }
  Strips(const Strips&) = delete;

  // False where there is no memory for them: the outputs are then to be written as they lie.
  bool has_memory() const { return strips_ != nullptr; }

  // Calls compute(row, rows, i, n, y) for elements [i, i + n) of some rows, whose outputs go to y.
  // Some rows are those up to the end of the first strip that ends.
  template <class Compute>
  void run(bool streams, Compute compute) {
    for (int64_t i = 0; i < n_; i += width_) {
      const int64_t count = least(n_ - i, width_);
      for (StripOutput& of : of_) of.begin(0, i);
      int64_t end = 0;
      for (int64_t row = 0; row < rows_; row = end) {
        end = rows_;
        for (const StripOutput& of : of_) end = least(end, of.end());
        Strided y[outputs];
        for (int o = 0; o < outputs; ++o) y[o] = of_[o].at(row);
        compute(row, end - row, i, count, y);
        for (StripOutput& of : of_) {
          if (end < of.end() && end < rows_) continue;
          of.write(end, count, streams);
          of.begin(end, i);
        }
      }
    }
    if (streams) stream_fence();
  }

 private:
  const int64_t rows_, n_, width_;
  StripOutput of_[outputs];
  Buffer<> small_;
  char* strips_ = small_.bytes;
  char* large_ = nullptr;
};

}  // namespace
}  // namespace npu_quant
