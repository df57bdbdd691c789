// How the operators of experts move rows: the order of keys, tables of where rows begin, and the
// move itself.
#pragma once

#include <memory>
#include <new>

#include "kernels/routing/routing.h"
#include "ops/contract/op.h"

namespace npu_quant {

// The most rows and slots that an int32 numbers, and the most elements that an array may have.
inline constexpr int64_t kMostRows = INT32_MAX, kMostElements = int64_t{1} << 52;

// An array to be made, without elements where there would be too many: that is refused by
// check_fits.
Shape fitting(const Shape& shape);
Status check_fits(const char* op, const char* argument, const TensorView& view,
                  const Shape& result);

// Room for so many integers, or none.
template <class Integer>
std::unique_ptr<Integer[]> allocate_integers(int64_t count) {
  return std::unique_ptr<Integer[]>(new (std::nothrow) Integer[static_cast<size_t>(count)]);
}

using Numbers = std::unique_ptr<int64_t[]>;

// Copies an array of int32 or int64, of one axis or two, so that nobody changes it.
Status copy_numbers(const char* op, const TensorView& array, Numbers& to);
// The same of indices from `least` to `last`, which are judged.
Status copy_indices(const char* op, const char* argument, const TensorView& array, int64_t least,
                    int64_t last, const Text& of_what, Numbers& to);

// Keys from the least to the greatest, of which equal ones keep their order. Those of a range come
// first; the others after them, where they are asked for, and among these the ones below the range
// as if they were the greatest int32.
class KeyOrder {
 public:
  enum class Others { left_out, sorted };

  // Copies an array of int32 or int64, so that nobody changes it, of a range [begin, end).
  Status assign(const char* op, const TensorView& keys, int64_t begin, int64_t end, Others others);
  // The same of any keys, all of them.
  Status assign(const char* op, const TensorView& keys);

  int64_t count() const { return count_; }
  int64_t inside() const { return groups_ > 0 ? ends_[groups_ - 1] : 0; }
  // Where number `i` of the order lies in the array, in C order.
  int64_t operator[](int64_t i) const { return order_[i]; }
  // Of a key that lies there: its place in the range, or -1 outside.
  int64_t group_at(int64_t place) const {
    const auto key = static_cast<uint64_t>(keys_[place]), begin = static_cast<uint64_t>(begin_);
    const uint64_t group = key - begin;  // wraps for keys below the range, far beyond it
    return group < static_cast<uint64_t>(groups_) ? static_cast<int64_t>(group) : -1;
  }
  // Which of the order have the key that is so many after `begin`.
  int64_t begin_of(int64_t group) const { return group == 0 ? 0 : ends_[group - 1]; }
  int64_t end_of(int64_t group) const { return ends_[group]; }

 private:
  Status sort(const char* op, Others others);

  int64_t count_ = 0, begin_ = 0, groups_ = 0;
  Numbers keys_, ends_;
  std::unique_ptr<int32_t[]> order_;
};

// Where rows of an array begin that lie along its first axis or, numbered through, its first two;
// of no axes it is one row.
class RowTable {
 public:
  // number_of(i) of each entry: a row, or -1 where there is none.
  template <class NumberOf>
  Status assign(const char* op, const TensorView& array, int axes, int64_t count,
                NumberOf number_of) {
    array_ = &array;
    axes_ = axes;
    table_ = allocate_integers<int64_t>(count);
    if (table_ == nullptr) return out_of_memory(op);
    const int64_t* const strides = array.strides;
    const int64_t inner = axes == 2 ? array.shape.dims[1] : 1;
    const int64_t of_outer = axes > 0 ? strides[0] : 0, of_inner = axes == 2 ? strides[1] : 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = number_of(i);
      table_[i] = number < 0 ? kNoRow : number / inner * of_outer + number % inner * of_inner;
    }
    return {};
  }
  const TensorView& array() const { return *array_; }
  int axes() const { return axes_; }
  const int64_t* data() const { return table_.get(); }

 private:
  const TensorView* array_ = nullptr;
  int axes_ = 1;
  Numbers table_;
};

// Whether the rows that an operator moves bypass the caches.
bool streams_rows(const Op& op);

// Rows of x along its first axis, each to `copies` places of another array, which a table has; the
// axes behind are alike in both. Of an absent x zeros.
void move_rows(const Op& op, const TensorView& x, int64_t rows, const RowTable& to, int64_t copies);

// Rows of x, each to the row of y that has its number in the table; zeros where there is none.
void gather_rows(const Op& op, const TensorView& x, const RowTable& of_x, const TensorView& y);

// What is added up to rows of y, as WeighRowsKernel says.
struct WeighedSums {
  const TensorView &x, &y;
  const RowTable& of_x;
  int64_t terms;
  const TensorView *skip1 = &kAbsent, *skip2 = &kAbsent, *bias = &kAbsent;
  const RowTable* of_bias = nullptr;
  const char* weights = nullptr;
  bool leaves_out_none = false;

  void run(const Op& op) const;
};

// An integer, to an element of an int32 or int64 array of one axis.
void put_integer(const TensorView& array, int64_t i, int64_t value);

}  // namespace npu_quant
